//! The device that a worker computes on, chosen once per process. A graphics processor has to be a real one: an adapter
//! that software pretends would be slower than the processor path, so it is refused unless a test asks for it.

use std::fs;

use burn::tensor::Device;

use crate::failure::TrainerError;

/// Device that a person asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The processor.
    #[default]
    Cpu,
    /// The first graphics processor.
    Gpu,
}

impl Choice {
    /// As it is given on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

/// A device that is ready.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Without autodiff; `device.autodiff()` is the one to train on.
    pub device: Device,
    /// For people.
    pub name: String,
    /// True if it is a graphics processor, or an adapter that stands for one in a test.
    pub is_gpu: bool,
}

/// Opens a device.
///
/// # Errors
/// [`TrainerError::Device`] where this build has no support for graphics processors, none is there, or only adapters
/// made of software are and `allow_software_adapter` is not set.
pub fn open(choice: Choice, allow_software_adapter: bool) -> Result<Opened, TrainerError> {
    match choice {
        Choice::Cpu => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(Opened { device: Device::flex(), name: format!("cpu ({threads} threads)"), is_gpu: false })
        }
        Choice::Gpu => graphics::open(allow_software_adapter),
    }
}

/// True if a device is the processor, with or without autodiff.
#[must_use]
pub fn is_processor(device: &Device) -> bool {
    *device == Device::flex()
}

/// Memory of a device that is free now, in bytes; none where it is unknown.
#[must_use]
pub fn free_memory_bytes(device: &Device) -> Option<u64> {
    if is_processor(device) { free_main_memory_bytes() } else { graphics::free_memory_bytes() }
}

/// Memory that the system could still give out, within the bounds of this process's control group.
fn free_main_memory_bytes() -> Option<u64> {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_bytes(&text));
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // Files that the kernel keeps at hand count as used, but are given up when memory is needed.
    let cached = fs::read_to_string("/sys/fs/cgroup/memory.stat").ok().and_then(|text| inactive_file_bytes(&text));
    let within = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .map(|(bound, used)| bound.saturating_sub(used.saturating_sub(cached.unwrap_or(0))));
    available.into_iter().chain(within).min()
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

fn inactive_file_bytes(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("inactive_file "))?.trim().parse().ok()
}

/// A build without graphics processors.
#[cfg(not(any(feature = "gpu", feature = "cuda", feature = "wgpu")))]
mod graphics {
    use super::Opened;
    use crate::failure::TrainerError;

    pub(super) fn open(_allow_software_adapter: bool) -> Result<Opened, TrainerError> {
        let reason = "this build has no support for graphics processors: build the trainer with --features gpu (Vulkan) or \
                      --features cuda, or use --device cpu";
        Err(TrainerError::Device(reason.to_owned()))
    }

    pub(super) fn free_memory_bytes() -> Option<u64> {
        None
    }
}

/// A build with at least one way to graphics processors.
#[cfg(any(feature = "gpu", feature = "cuda", feature = "wgpu"))]
mod graphics {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::{Device, DeviceType};

    use super::{Opened, is_software};
    use crate::failure::TrainerError;

    pub(super) fn open(allow_software_adapter: bool) -> Result<Opened, TrainerError> {
        let kinds = [
            #[cfg(feature = "cuda")]
            DeviceType::Cuda,
            #[cfg(feature = "gpu")]
            DeviceType::Vulkan,
            #[cfg(feature = "wgpu")]
            DeviceType::Wgpu,
        ];
        let mut software = None;
        for kind in kinds {
            // A driver that is not installed panics inside the libraries instead of answering.
            let found = catch_unwind(AssertUnwindSafe(|| Device::enumerate(kind).into_vec())).unwrap_or_default();
            for device in found {
                let identity = catch_unwind(AssertUnwindSafe(|| device.identity()));
                let Ok(Some(identity)) = identity else { continue };
                // What a driver reports as a processor is no card on a bus, whatever it is called.
                let is_real = identity.physical.is_some() && !is_software(&identity.name);
                let opened = Opened { device, name: identity.name, is_gpu: true };
                if is_real {
                    return Ok(opened);
                }
                // The last one: of the ways to a software adapter, WGSL is the one that does not crash in its driver.
                software = Some(opened);
            }
        }
        match software {
            Some(opened) if allow_software_adapter => Ok(opened),
            Some(opened) => Err(TrainerError::Device(format!(
                "the only adapter is made of software ({}): use --device cpu, which is faster",
                opened.name
            ))),
            None => Err(TrainerError::Device(
                "no graphics processor was found: install its driver, or use --device cpu".to_owned(),
            )),
        }
    }

    /// Of the only card of this machine, from its driver.
    pub(super) fn free_memory_bytes() -> Option<u64> {
        let cards =
            fs::read_dir("/sys/class/drm").ok()?.filter_map(Result::ok).map(|entry| entry.path().join("device"));
        let number = |path: std::path::PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let mut free: Vec<u64> = cards
            .filter_map(|card| {
                let total = number(card.join("mem_info_vram_total"))?;
                Some(total.saturating_sub(number(card.join("mem_info_vram_used"))?))
            })
            .collect();
        if free.is_empty() {
            let output = std::process::Command::new("nvidia-smi")
                .args(["--query-gpu=memory.free", "--format=csv,noheader,nounits"])
                .stdin(std::process::Stdio::null())
                .output()
                .ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            let mebibytes = text.lines().filter_map(|line| line.trim().parse::<u64>().ok());
            free.extend(mebibytes.map(|free| free << 20));
        }
        match free.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }
}

/// True if an adapter of this name is software that pretends to be a graphics processor.
#[cfg(any(test, feature = "gpu", feature = "cuda", feature = "wgpu"))]
fn is_software(name: &str) -> bool {
    const NAMES: [&str; 5] = ["llvmpipe", "lavapipe", "softpipe", "swiftshader", "microsoft basic render"];
    let name = name.to_lowercase();
    NAMES.iter().any(|software| name.contains(software))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_always_there() {
        let opened = open(Choice::Cpu, false).unwrap();
        assert!(!opened.is_gpu && opened.name.starts_with("cpu"), "{opened:?}");
        assert!(!opened.device.is_autodiff());
        if cfg!(target_os = "linux") {
            assert!(free_memory_bytes(&opened.device).unwrap() > 0);
        }
    }

    #[cfg(not(any(feature = "gpu", feature = "cuda", feature = "wgpu")))]
    #[test]
    fn a_build_without_graphics_says_so_even_where_software_would_do() {
        for allow in [false, true] {
            let error = open(Choice::Gpu, allow).unwrap_err();
            assert_eq!(error.code(), "device");
            assert!(error.to_string().contains("--features gpu"), "{error}");
        }
    }

    #[test]
    fn adapters_made_of_software_are_known_by_name() {
        assert!(is_software("llvmpipe (LLVM 15.0.6, 256 bits)") && is_software("SwiftShader Device (Subzero)"));
        assert!(!is_software("NVIDIA H100 80GB HBM3") && !is_software("AMD Radeon 8060S Graphics"));
    }

    #[test]
    fn free_memory_is_read_from_the_system() {
        assert_eq!(available_bytes("MemTotal: 8 kB\nMemAvailable:    2048 kB\n"), Some(2_097_152));
        assert_eq!(available_bytes("MemTotal: 8 kB\n"), None);
        assert_eq!(available_bytes("MemAvailable: many kB"), None);
        assert_eq!(inactive_file_bytes("anon 5\ninactive_file 4096\n"), Some(4_096));
    }
}
