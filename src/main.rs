//! The `markbook` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    markbook::cli::main()
}
