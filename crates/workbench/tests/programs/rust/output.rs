use std::io::Write;
fn main() {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for _ in 0..200_000 {
        writeln!(out, "0123456789").expect("printed");
    }
}
