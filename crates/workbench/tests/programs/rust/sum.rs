use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("input");
    let sum: i64 = text.split_whitespace().map(|word| word.parse::<i64>().expect("a number")).sum();
    println!("{sum}");
}
