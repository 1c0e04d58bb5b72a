use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("input");
    let mut numbers: Vec<i32> = text.split_whitespace().skip(1).map(|word| word.parse().expect("a number")).collect();
    numbers.sort_unstable();
    for number in numbers {
        println!("{number}");
    }
}
