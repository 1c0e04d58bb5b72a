//! The program as a person starts it.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palestra-trainer"))
        .args(arguments)
        .env_remove("PALESTRA_API_KEY")
        .output()
        .expect("the program starts")
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn it_says_what_it_computes_on_and_why_not() {
    let output = run(&["devices"]);
    assert!(output.status.success(), "{}", output_text(&output));
    let output_text = output_text(&output);
    assert!(output_text.contains("cpu: cpu ("), "{output_text}");
    assert!(output_text.contains("gpu: "), "a missing device is named with its reason: {output_text}");
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let output = run(&["generate", "--model", "/nowhere/model.gguf", "--prompt", "x"]);
    assert!(!output.status.success());
    assert!(output_text(&output).contains("/nowhere/model.gguf"), "{}", output_text(&output));
}

#[test]
fn a_worker_without_a_key_says_which_one_it_needs() {
    let output = run(&["work", "--url", "http://127.0.0.1:9"]);
    assert!(!output.status.success());
    assert!(output_text(&output).contains("--key"), "{}", output_text(&output));
}

#[test]
fn an_attempt_without_a_lease_ends() {
    let output = run(&["attempt", "--url", "http://127.0.0.1:9", "--key", "k"]);
    assert!(!output.status.success());
    assert!(output_text(&output).contains("no lease came"), "{}", output_text(&output));
}
