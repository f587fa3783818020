//! The `markbook` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = markbook::cli::main();
    markbook::files::forget_pipes();
    code
}
