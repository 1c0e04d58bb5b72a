//! Archives made to get out of the folder that they are unpacked in. Each is written byte by byte: no builder of archives would.

/// Kinds of entries.
pub(crate) const FILE: u8 = b'0';
pub(crate) const HARD_LINK: u8 = b'1';
pub(crate) const LINK: u8 = b'2';
pub(crate) const CHARACTER_DEVICE: u8 = b'3';
pub(crate) const BLOCK_DEVICE: u8 = b'4';
pub(crate) const FOLDER: u8 = b'5';
pub(crate) const PIPE: u8 = b'6';
pub(crate) const CONTIGUOUS: u8 = b'7';
pub(crate) const LONG_NAME: u8 = b'L';
pub(crate) const LONG_LINK: u8 = b'K';
pub(crate) const EXTENDED: u8 = b'x';
pub(crate) const GLOBAL: u8 = b'g';

/// A tar archive in the making.
#[derive(Default)]
pub(crate) struct Hostile(Vec<u8>);

impl Hostile {
    /// An entry as it is, with the size of what it holds.
    #[must_use]
    pub(crate) fn entry(self, kind: u8, name: &[u8], link: &[u8], body: &[u8]) -> Self {
        self.claiming(kind, name, link, body, body.len() as u64)
    }

    /// An entry that claims another size than what follows has.
    #[must_use]
    pub(crate) fn claiming(mut self, kind: u8, name: &[u8], link: &[u8], body: &[u8], size: u64) -> Self {
        let mut header = [0_u8; 512];
        header[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
        let mode = if kind == FOLDER { b"0000755\0" } else { b"0006755\0" };
        header[100..108].copy_from_slice(mode);
        header[108..116].copy_from_slice(b"0000000\0");
        header[116..124].copy_from_slice(b"0000000\0");
        header[124..136].copy_from_slice(&number(size));
        header[136..148].copy_from_slice(b"00000000000\0");
        header[156] = kind;
        header[157..157 + link.len().min(100)].copy_from_slice(&link[..link.len().min(100)]);
        header[257..265].copy_from_slice(b"ustar  \0");
        // Numbers of a device: those of the kernel's memory.
        header[329..337].copy_from_slice(b"0000001\0");
        header[337..345].copy_from_slice(b"0000001\0");
        header[148..156].copy_from_slice(b"        ");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(body);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// A regular file.
    #[must_use]
    pub(crate) fn file(self, name: &[u8], body: &[u8]) -> Self {
        self.entry(FILE, name, b"", body)
    }

    /// A link by name.
    #[must_use]
    pub(crate) fn link(self, name: &[u8], to: &[u8]) -> Self {
        self.entry(LINK, name, to, b"")
    }

    /// The whole archive.
    #[must_use]
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }

    /// Without its end.
    #[must_use]
    pub(crate) fn cut(self) -> Vec<u8> {
        self.0
    }
}

/// A size as headers hold it: octal digits, or the bytes themselves where it is too large for them.
fn number(size: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if size < 1 << 33 {
        field.copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&size.to_be_bytes());
    }
    field
}

/// A record of an extended header.
fn record(name: &str, value: &[u8]) -> Vec<u8> {
    let rest = name.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} {name}=").as_bytes(), value, b"\n"].concat()
}

const WORD: &[u8] = b"escaped";

/// Every archive by name. What they try to make is called `escaped` wherever it is outside the folder.
pub(crate) fn all() -> Vec<(&'static str, Vec<u8>)> {
    let new = Hostile::default;
    let many_up = [b"../".repeat(30).as_slice(), b"tmp/escaped"].concat();
    let through_file = [(b"hard".as_slice(), HARD_LINK), (b"soft", LINK)];
    vec![
        ("up", new().file(b"../escaped", WORD).end()),
        ("up_many", new().file(&many_up, WORD).end()),
        ("up_inside", new().file(b"a/b/../../../escaped", WORD).end()),
        ("up_at_the_end", new().entry(FOLDER, b"a/..", b"", b"").file(b"a/../../escaped", WORD).end()),
        ("absolute", new().file(b"/tmp/escaped", WORD).end()),
        ("absolute_double", new().file(b"//tmp/escaped", WORD).end()),
        ("dot_absolute", new().file(b"././/../tmp/escaped", WORD).end()),
        ("through_link", new().link(b"way", b"/tmp").file(b"way/escaped", WORD).end()),
        ("through_link_up", new().link(b"way", b"..").file(b"way/escaped", WORD).end()),
        ("through_links", new().link(b"a", b"b").link(b"b", b"/tmp").file(b"a/escaped", WORD).end()),
        ("through_link_to_folder", new().link(b"way", b"/tmp").entry(FOLDER, b"way/escaped", b"", b"").end()),
        (
            "through_link_with_slash",
            new().link(b"way", b"/tmp").entry(FOLDER, b"way/", b"", b"").file(b"way/escaped", WORD).end(),
        ),
        (
            "folder_becomes_link",
            new().entry(FOLDER, b"way", b"", b"").link(b"way", b"/tmp").file(b"way/escaped", WORD).end(),
        ),
        ("link_replaces_file", new().file(b"way", b"x").link(b"way", b"/tmp/escaped").file(b"way", WORD).end()),
        ("link_as_file", new().link(b"way", b"/tmp/escaped").file(b"way", WORD).end()),
        ("hard_link_out", new().entry(HARD_LINK, b"hard", b"/etc/passwd", b"").file(b"hard", WORD).end()),
        ("hard_link_up", new().entry(HARD_LINK, b"hard", b"../../../etc/passwd", b"").file(b"hard", WORD).end()),
        (
            "hard_link_through_link",
            new().link(b"way", b"/etc").entry(HARD_LINK, b"hard", b"way/passwd", b"").file(b"hard", WORD).end(),
        ),
        (
            "hard_link_to_link",
            new().link(b"way", b"/etc/passwd").entry(HARD_LINK, b"hard", b"way", b"").file(b"hard", WORD).end(),
        ),
        (
            "long_name",
            new().entry(LONG_NAME, b"././@LongLink", b"", b"../../../../tmp/escaped\0").file(b"short", WORD).end(),
        ),
        ("long_link", {
            let archive = new().entry(LONG_LINK, b"././@LongLink", b"", b"/etc/passwd\0");
            archive.entry(HARD_LINK, b"hard", b"short", b"").file(b"hard", WORD).end()
        }),
        (
            "extended_path",
            new().entry(EXTENDED, b"pax", b"", &record("path", b"../escaped")).file(b"short", WORD).end(),
        ),
        (
            "extended_path_absolute",
            new().entry(EXTENDED, b"pax", b"", &record("path", b"/tmp/escaped")).file(b"short", WORD).end(),
        ),
        ("extended_link", {
            let archive = new().entry(EXTENDED, b"pax", b"", &record("linkpath", b"/etc/passwd"));
            archive.entry(HARD_LINK, b"hard", b"short", b"").file(b"hard", WORD).end()
        }),
        (
            "extended_global",
            new().entry(GLOBAL, b"pax", b"", &record("path", b"../escaped")).file(b"short", WORD).end(),
        ),
        (
            "extended_size",
            new().entry(EXTENDED, b"pax", b"", &record("size", b"18446744073709551615")).file(b"short", WORD).end(),
        ),
        (
            "extended_nul",
            new().entry(EXTENDED, b"pax", b"", &record("path", b"../escaped\0x")).file(b"short", WORD).end(),
        ),
        ("extended_broken", new().entry(EXTENDED, b"pax", b"", b"999999999 path=x\n").file(b"short", WORD).end()),
        ("device", new().entry(CHARACTER_DEVICE, b"memory", b"", b"").entry(BLOCK_DEVICE, b"disk", b"", b"").end()),
        ("pipe", new().entry(PIPE, b"pipe", b"", b"").file(b"pipe", WORD).end()),
        ("contiguous", new().entry(CONTIGUOUS, b"../escaped", b"", WORD).end()),
        ("unknown_kind", new().entry(b'Z', b"../escaped", b"", WORD).end()),
        ("claims_more", new().claiming(FILE, b"large", b"", b"x", 1 << 62).end()),
        ("claims_ten_gigabytes", new().claiming(FILE, b"large", b"", b"x", 10 << 30).end()),
        ("claims_a_little_more", new().claiming(FILE, b"large", b"", b"x", 4096).cut()),
        ("long_name_endless", new().claiming(LONG_NAME, b"././@LongLink", b"", b"x", 8 << 30).end()),
        (
            "long_name_large",
            new().entry(LONG_NAME, b"././@LongLink", b"", &vec![b'n'; 4 << 20]).file(b"short", WORD).end(),
        ),
        ("deep", new().entry(LONG_NAME, b"././@LongLink", b"", &b"d/".repeat(40_000)).file(b"short", WORD).end()),
        ("name_of_nul", new().file(b"\0", WORD).end()),
        ("the_folder_itself", new().link(b".", b"/tmp").file(b"escaped", b"inside").end()),
        ("the_folder_as_file", new().file(b"./", WORD).end()),
        ("folder_over_file", new().file(b"a", b"x").file(b"a/b", b"x").end()),
        (
            "through_file",
            through_file
                .iter()
                .fold(new(), |archive, (name, kind)| archive.entry(*kind, name, b"/proc/self/mem", b""))
                .file(b"soft", WORD)
                .end(),
        ),
        ("whiteouts", new().file(b".wh.passwd", b"").file(b".wh..wh..opq", b"").end()),
        ("sparse_of_ten_gigabytes", sparse(10 << 30)),
        ("noise", (0..200_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()),
        ("nothing", Vec::new()),
        ("cut", new().file(b"a", &[b'a'; 2000]).cut()[..1024].to_vec()),
    ]
}

/// A file in the old GNU form of sparse files: one byte at its end.
fn sparse(size: u64) -> Vec<u8> {
    let mut archive = Hostile::default().claiming(b'S', b"large", b"", &[b'x'; 512], 512).end();
    let header = &mut archive[..512];
    header[386..398].copy_from_slice(&number(size - 512));
    header[398..410].copy_from_slice(&number(512));
    header[483..495].copy_from_slice(&number(size));
    header[148..156].copy_from_slice(b"        ");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive
}
