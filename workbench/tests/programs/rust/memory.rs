fn main() {
    let mut parts = Vec::new();
    for number in 0..1024_u32 {
        parts.push(vec![number as u8 | 1; 1 << 20]);
    }
    println!("{}", std::hint::black_box(parts).len());
}
