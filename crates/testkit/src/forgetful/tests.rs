//! What the disk forgets, and what it keeps.

use super::*;

#[test]
fn only_what_was_synced_survives() {
    let disk = ForgetfulDisk::new();
    disk.create_folder("log").unwrap();
    let mut file = disk.create("log/1").unwrap();
    file.append(b"kept").unwrap();
    file.sync_data().unwrap();
    file.append(b" lost").unwrap();
    disk.crash();
    assert_eq!(disk.file_names(), Vec::<String>::new(), "the name was not synced");

    let mut file = disk.create("log/1").unwrap();
    file.append(b"kept").unwrap();
    file.sync_data().unwrap();
    file.append(b" lost").unwrap();
    disk.sync_dir("log").unwrap();
    disk.create("log/2").unwrap();
    disk.crash();
    assert_eq!(disk.file_names(), ["log/1"]);
    assert_eq!(disk.read("log/1").unwrap(), b"kept");
    assert!(file.append(b"x").is_err(), "a handle from before the crash");

    let held = disk.until_crash();
    held.create("log/3").unwrap();
    disk.crash();
    assert!(held.create("log/4").is_err() && held.read("log/1").is_err(), "a process from before the crash");
}

#[test]
fn a_sync_is_taken_out_for_one_folder_alone() {
    let disk = ForgetfulDisk::new();
    disk.ignore_sync_data_in("blocks");
    disk.ignore_sync_dir_in("log");
    for folder in ["blocks", "catalogue", "log", "tmp"] {
        disk.create_folder(folder).unwrap();
    }
    for (temporary, name) in [("tmp/1", "blocks/one"), ("tmp/2", "catalogue/one"), ("tmp/3", "log/one")] {
        let mut file = disk.create(temporary).unwrap();
        file.append(b"kept").unwrap();
        file.sync_data().unwrap();
        disk.rename_new(temporary, name).unwrap();
    }
    let mut file = disk.create("catalogue/direct").unwrap();
    file.append(b"kept").unwrap();
    file.sync_data().unwrap();
    for folder in ["blocks", "catalogue", "log", "tmp"] {
        disk.sync_dir(folder).unwrap();
    }
    disk.crash();
    assert_eq!(disk.file_names(), ["blocks/one", "catalogue/direct", "catalogue/one"]);
    assert_eq!(disk.read("blocks/one").unwrap(), b"");
    assert_eq!(disk.read("catalogue/one").unwrap(), b"kept");
    assert_eq!(disk.read("catalogue/direct").unwrap(), b"kept");
}

#[test]
fn a_removed_name_comes_back_and_a_seed_keeps_a_part() {
    let disk = ForgetfulDisk::new();
    let mut file = disk.create("a").unwrap();
    file.append(b"0123456789").unwrap();
    file.sync_data().unwrap();
    disk.sync_dir("").unwrap();
    disk.remove("a").unwrap();
    disk.crash();
    assert_eq!(disk.read("a").unwrap(), b"0123456789");

    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let disk = ForgetfulDisk::new();
        let mut file = disk.create("a").unwrap();
        file.append(b"0123456789").unwrap();
        disk.sync_dir("").unwrap();
        disk.crash_with_seed(seed);
        lengths.insert(disk.read("a").unwrap().len());
    }
    assert!(lengths.len() > 5, "{lengths:?}");
}

#[test]
fn it_stops_at_the_step_it_was_told() {
    let disk = ForgetfulDisk::new();
    disk.stop_after(2);
    let mut file = disk.create("a").unwrap();
    file.append(b"x").unwrap();
    assert!(file.sync_data().is_err());
    assert!(disk.free_space().is_err());
    disk.crash();
    assert!(disk.free_space().is_ok());
}
