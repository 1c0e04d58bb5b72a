//! Suite of every back end: each case takes a [`world::World`] and runs against every back end that is there. A new back end is
//! a function that makes a world and one line at the end of this file.

#![expect(clippy::print_stdout, reason = "cases say what they measured")]

mod commands;
mod containers;
mod crash;
mod files;
mod life;
mod limits;
mod programs;
mod refusal;
mod watched;
mod without_root;
mod world;

/// Every case, for each back end.
macro_rules! cases {
    ($($backend:ident => $world:path),* $(,)?) => { $( cases! { @each $backend => $world;
        commands: a_command_runs_and_tells_how_it_ended,
        commands: a_program_that_is_not_there_is_said,
        commands: a_signal_that_ends_a_command_is_said,
        commands: environment_and_folder_are_those_of_image_profile_and_command,
        commands: commands_run_as_the_user_of_the_profile_without_any_right,
        commands: standard_input_arrives_whole,
        commands: output_beyond_the_limit_is_counted_and_its_end_is_kept,
        commands: a_flood_of_output_ends_with_its_time,
        commands: a_command_whose_time_is_over_is_killed_with_what_it_started,
        commands: a_command_ends_although_what_it_started_holds_its_output,
        commands: standard_error_can_go_with_standard_output,
        commands: commands_run_at_the_same_time,
        commands: a_command_is_handed_nothing_but_its_standard_files,
        programs: a_driver_starts_programs_as_another_user,
        programs: programs_never_have_the_results_of_their_driver,
        programs: programs_end_with_their_driver,
        files: files_are_written_and_read_as_bytes,
        files: links_and_pipes_are_not_read_and_long_files_are_refused,
        files: packed_files_can_be_unpacked_elsewhere,
        files: an_archive_cannot_leave_its_folder,
        files: changes_name_what_was_added_modified_and_deleted,
        files: the_change_of_a_sandbox_can_be_applied_to_another,
        limits: memory_is_bounded_and_the_sandbox_survives,
        limits: processes_are_bounded_and_the_sandbox_survives,
        limits: the_disk_is_bounded_in_bytes,
        limits: the_disk_is_bounded_in_files,
        limits: files_and_open_files_are_bounded,
        limits: the_network_is_loopback_alone,
        limits: calls_that_make_namespaces_or_mounts_are_refused,
        limits: devices_and_kernel_settings_cannot_be_written,
        life: frozen_processes_do_nothing_until_they_are_thawed,
        life: kill_ends_every_process_and_the_sandbox_stays,
        life: a_terminal_types_resizes_and_ends,
        life: a_command_with_an_open_input_reads_and_prints_without_a_bound,
        life: a_command_that_ends_without_reading_holds_nobody_up,
        life: resource_usage_is_reported,
        life: nothing_is_left_of_what_was_destroyed,
        life: nothing_is_left_of_what_was_dropped,
        life: nothing_is_left_of_a_start_that_fails,
        life: twenty_start_and_work_at_once,
        life: a_disk_is_kept_and_gone_on_with,
        life: a_disk_is_used_once_at_a_time,
        life: sweeping_removes_disks_that_nobody_keeps,
        life: a_lost_agent_is_said_and_nothing_is_left,
        life: isolation_is_reported_line_by_line,
        life: a_profile_that_requires_what_is_not_in_force_starts_nothing,
        life: starting_and_running_are_quick,
        watched: programs_and_files_of_a_watched_command_are_reported,
        watched: missing_files_and_targets_of_a_watched_command_are_reported,
        watched: nobody_shakes_a_watcher_off,
        watched: stopped_and_timed_out_commands_are_as_without_a_watcher,
    } )* };
    (@each $backend:ident => $world:path; $($module:ident: $case:ident,)*) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(world) = $world().await {
                        crate::$module::$case(&world).await;
                        world.end().await;
                    }
                }
            )*
        }
    };
}

cases! {
    local => crate::world::local,
    docker => crate::containers::docker,
}
