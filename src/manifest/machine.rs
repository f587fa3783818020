//! What computed: the machine, and the program.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// A machine that computes answers. No name of it or of its owner.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub cpu: Option<String>,
    /// Those of the CPU's instruction sets that kernels differ by.
    pub features: Vec<String>,
    /// Threads that it runs at once.
    pub cores: Option<usize>,
    /// The name of the GPU, where one computes.
    pub gpu: Option<String>,
    /// Version of the GPU's driver.
    pub driver: Option<String>,
    /// System, kernel's version, architecture.
    pub os: String,
}

/// The program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// The commit of a release build, `-dirty` after it where files were changed; none where git did not tell.
    pub commit: Option<String>,
    /// The cargo features that are on.
    pub features: Vec<String>,
}

impl Machine {
    /// This machine; `device` is what a model computes on (`cpu`, else a GPU).
    pub fn here(device: &str) -> Machine {
        let gpu = (device != "cpu").then(gpu).flatten();
        Machine {
            cpu: cpu(),
            features: features(),
            cores: std::thread::available_parallelism().ok().map(std::num::NonZero::get),
            driver: gpu.as_ref().map(|(_, driver)| driver.clone()),
            gpu: gpu.map(|(name, _)| name),
            os: os(),
        }
    }
}

impl Build {
    /// This program's.
    pub fn here() -> Build {
        let features = [
            ("cuda", cfg!(feature = "cuda")),
            ("metal", cfg!(feature = "metal")),
            ("mkl", cfg!(feature = "mkl")),
            ("accelerate", cfg!(feature = "accelerate")),
        ];
        let on = features.iter().filter(|(_, is_on)| *is_on);
        Build {
            commit: option_env!("MARKBOOK_COMMIT").map(str::to_owned),
            features: on.map(|(name, _)| (*name).to_owned()).collect(),
        }
    }
}

/// What a program prints, where it is there and does well.
fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn cpu() -> Option<String> {
    if cfg!(target_os = "macos") {
        return printed("sysctl", &["-n", "machdep.cpu.brand_string"]);
    }
    if cfg!(windows) {
        return std::env::var("PROCESSOR_IDENTIFIER").ok();
    }
    let facts = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let named = |key: &str| facts.lines().find_map(|line| line.strip_prefix(key)?.split_once(": "));
    let name = named("model name")
        .or_else(|| named("Model"))
        .or_else(|| named("CPU part"));
    name.map(|(_, name)| name.trim().to_owned())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<String> {
    let found = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512bf16", is_x86_feature_detected!("avx512bf16")),
    ];
    let found = found.iter().filter(|(_, is_there)| *is_there);
    found.map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<String> {
    Vec::new()
}

/// Name and driver of the first NVIDIA GPU.
fn gpu() -> Option<(String, String)> {
    let asked = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
    let told = printed("nvidia-smi", &asked)?;
    let (name, driver) = told.lines().next()?.split_once(", ")?;
    Some((name.to_owned(), driver.to_owned()))
}

fn os() -> String {
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let release = match system {
        "linux" => std::fs::read_to_string("/proc/sys/kernel/osrelease").ok(),
        "macos" => printed("sw_vers", &["-productVersion"]),
        _ => None,
    };
    let release = release.unwrap_or_default();
    [system, release.trim(), architecture]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
