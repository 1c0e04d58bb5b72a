fn main() {
    let number: u32 = "text";
}
