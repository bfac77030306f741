//! How much memory this program may still take, and whether that is enough.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::output;

/// Refuses what takes more memory than there is, unless the user said yes. Where the system does not say how much there
/// is, nothing is refused.
///
/// # Errors
/// With both numbers and who sets the limit; exit code 1.
pub fn ensure(what: impl FnOnce() -> String, needed: u64, yes: bool) -> Result<()> {
    match available() {
        Some(room) if room.bytes < needed && !yes => Err(Failure::environment(format!(
            "not enough resources: {} takes about {} of memory, {} can be taken ({}); --yes does it all the same",
            what(),
            output::bytes(needed),
            output::bytes(room.bytes),
            room.limit
        ))),
        _ => Ok(()),
    }
}

/// Memory that can still be taken.
#[derive(Debug, PartialEq)]
struct Room {
    bytes: u64,
    /// Who sets the limit.
    limit: String,
}

/// The least of what the machine has and what the control groups of this process allow; `None` where the system does
/// not say.
fn available() -> Option<Room> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(of_machine);
    of_groups(&groups, Path::new("/sys/fs/cgroup"))
        .into_iter()
        .chain(machine)
        .min_by_key(|room| room.bytes)
}

/// What programs may take without pushing others out, from the text of `/proc/meminfo`.
fn of_machine(meminfo: &str) -> Option<Room> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Room {
        bytes: kib * 1024,
        limit: "the machine's memory".to_owned(),
    })
}

/// The files of a control group in one version of their interface (Documentation/admin-guide of Linux, `cgroup-v2.rst`
/// and `cgroup-v1/memory.rst`).
struct Interface {
    /// The folder below the mount of all groups.
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The lines of `memory.stat` that count pages of files, which the system takes back first.
    files: [&'static str; 2],
}

const V2: Interface = Interface {
    root: "",
    limit: "memory.max",
    usage: "memory.current",
    files: ["active_file", "inactive_file"],
};

const V1: Interface = Interface {
    root: "memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    files: ["total_active_file", "total_inactive_file"],
};

/// What each control group of `/proc/self/cgroup` allows, and each above it: a limit holds for all below.
fn of_groups(groups: &str, mount: &Path) -> Vec<Room> {
    let mut rooms = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let interface = match (number, controllers) {
            ("0", "") => V2,
            _ if controllers.split(',').any(|controller| controller == "memory") => V1,
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        // In a container the path may be the host's, which does not exist here; the mount itself always does.
        rooms.extend(path.ancestors().filter_map(|group| room(mount, &interface, group)));
    }
    rooms
}

/// What one group allows; `None` without a limit.
fn room(mount: &Path, interface: &Interface, group: &Path) -> Option<Room> {
    let folder: PathBuf = [mount, Path::new(interface.root), group].iter().collect();
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // `max`, which is no number, stands for none.
    let (limit, usage) = (number(interface.limit)?, number(interface.usage)?);
    let stat = read("memory.stat").unwrap_or_default();
    let files: u64 = stat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| interface.files.contains(name))
        .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
        .sum();
    Some(Room {
        bytes: limit.saturating_sub(usage.saturating_sub(files)),
        limit: folder.join(interface.limit).display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_what_is_available() {
        let text = "MemTotal:       131 kB\nMemAvailable:     16 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(text).map(|room| room.bytes), Some(16 * 1024));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);
    }

    /// A mount of control groups with these files.
    fn mounted(files: &[(&str, &str)]) -> tempfile::TempDir {
        let mount = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = mount.path().join(name);
            fs::create_dir_all(path.parent().expect("has one")).expect("ours");
            fs::write(path, text).expect("ours");
        }
        mount
    }

    fn least(groups: &str, mount: &Path) -> Option<u64> {
        of_groups(groups, mount).iter().map(|room| room.bytes).min()
    }

    #[test]
    fn the_narrowest_group_above_a_process_counts() {
        let mount = mounted(&[
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "300\n"),
            ("a/memory.stat", "anon 5\nactive_file 50\ninactive_file 100\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "200\n"),
        ]);
        // 1000 less the 150 that are no pages of files.
        assert_eq!(least("0::/a/b\n", mount.path()), Some(850));
        assert_eq!(least("0::/other\n", mount.path()), None);
        let over = mounted(&[("memory.max", "100"), ("memory.current", "300")]);
        assert_eq!(least("0::/not/here\n", over.path()), Some(0));
    }

    #[test]
    fn the_older_interface_is_read_too() {
        let mount = mounted(&[
            ("memory/memory.limit_in_bytes", "900\n"),
            ("memory/memory.usage_in_bytes", "100\n"),
        ]);
        let groups = "5:cpu,cpuacct:/x\n3:memory:/docker/1f\n";
        assert_eq!(least(groups, mount.path()), Some(800));
        assert_eq!(least("5:cpu:/x\n", mount.path()), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_numbers() {
        assert!(ensure(|| unreachable!(), 1, false).is_ok());
        assert!(ensure(|| unreachable!(), u64::MAX, true).is_ok());
        if available().is_some() {
            let refused = ensure(|| "this".to_owned(), u64::MAX, false).expect_err("nobody has so much");
            assert_eq!(refused.exit.code(), 1);
            assert!(
                refused.message.contains("this takes about 18446744073709551615 B"),
                "{}",
                refused.message
            );
        }
    }
}
