fn main() {
    let mut parts = Vec::new();
    for number in 0..1024_u32 {
        parts.push(vec![number as u8 | 1; 1 << 20]);
    }
    println!("{}", parts.iter().map(|part| u32::from(part[part.len() - 1])).sum::<u32>());
}
