# What a judged program tries against the driver that tries it, and against all else of other users: FORM is `traced` (by calls that
# reach into processes), `offered` (by what file system and descriptors offer) or `left` (by what an earlier run left behind); EXPECTED
# is what the driver should print. It notes what worked where the test finds it, and returns 77.
use strict; no warnings;
my ($form, $expected) = ("FORM", pack("H*", "EXPECTED"));
my (@worked, %others);
my $own = $>;
sub note { push @worked, join(" ", @_) }
sub forge { my $fd = shift; syscall(1, $fd, $expected, length $expected) }
opendir my $proc, "/proc";
for my $pid (grep { /^\d+$/ } readdir $proc) {
    open my $status, "<", "/proc/$pid/status" or next;
    my ($uid) = map { /^Uid:\s+(\d+)/ ? $1 : () } <$status>;
    $others{$pid + 0} = $uid if defined $uid && $uid != $own;
}
closedir $proc;
my @others = sort { $a <=> $b } keys %others;
if ($form eq "traced") {
    for my $pid (@others) {
        for my $request (16, 0x4206) { note("trace", $others{$pid}) if syscall(101, $request, $pid, 0, 0) == 0 }
        my $process = syscall(434, $pid, 0);
        if ($process >= 0) {
            for my $number (0 .. 9) {
                my $taken = syscall(438, $process, $number, 0);
                if ($taken >= 0) { note("descriptor", $others{$pid}); forge($taken) }
            }
            note("signal", $others{$pid}) if syscall(424, $process, 19, 0, 0) == 0;
        }
        my $room = "\0" x 8;
        my $here = pack("QQ", unpack("Q", pack("p", $room)), 8);
        my $there = pack("QQ", 0x400000, 8);
        for my $call (310, 311) {
            my $moved = syscall($call, $pid, $here, 1, $there, 1, 0);
            note("memory", $others{$pid}) if $moved >= 0 || $! == 14;
        }
        my $none = pack("QQ", 0, 0);
        note("limit", $others{$pid}) if syscall(302, $pid, 0, $none, 0) == 0;
        for my $signal (19, 15, 9) { note("kill", $others{$pid}) if kill $signal, $pid }
    }
} elsif ($form eq "left") {
    my $place = pack("S a*", 1, "\0attack-$own");
    if (open my $left, "<", "/tmp/attack-left") {
        # A number may be another process's by now, so the helper is asked by its socket too, and by its name.
        socket(my $socket, 1, 1, 0);
        note("helper") if connect($socket, $place);
        for my $pid (<$left>) { if (open my $file, "<", "/proc/" . ($pid + 0) . "/comm") { note("process") if <$file> eq "left behind\n" } }
        note("pipe") if sysopen my $pipe, "/tmp/attack-pipe", 1 | 2048;
    }
    # A helper that has left its session, its parent and its streams. It says when it is ready.
    pipe my $ready, my $done;
    unless (fork) {
        close $_ for *STDIN, *STDOUT, *STDERR, $ready;
        syscall(112);
        exit if fork;
        $0 = "left behind";
        $SIG{$_} = "IGNORE" for qw(TERM HUP INT PIPE);
        socket(my $socket, 1, 1, 0); bind($socket, $place); listen($socket, 5);
        if (open my $left, ">>", "/tmp/attack-left") { print $left "$$\n"; close $left }
        syscall(133, "/tmp/attack-pipe\0", 010600, 0); open my $pipe, "+<", "/tmp/attack-pipe";
        close $done;
        sleep 1000;
        exit;
    }
    close $done;
    sysread $ready, my $said, 1;
} else {
    for my $pid (@others) {
        for my $name (qw(mem environ maps smaps auxv io stack syscall personality clear_refs)) {
            my $read;
            if (open my $file, "<", "/proc/$pid/$name") { note($name, $others{$pid}) if sysread $file, $read, 1 }
        }
        for my $name (qw(cwd exe root)) { note($name, $others{$pid}) if defined readlink "/proc/$pid/$name" }
        for my $number (0 .. 9) {
            if (open my $file, ">>", "/proc/$pid/fd/$number") { note("fd", $others{$pid}); forge(fileno $file) }
        }
        if (open my $file, ">", "/proc/$pid/oom_score_adj") { syswrite $file, "1000" and note("oom", $others{$pid}) }
        if (open my $file, "<", "/proc/$pid/cmdline") { local $/; my $line = <$file>; note("line") if $line =~ /PROGRAM/ && $line !~ /H\*/ }
    }
    if (opendir my $folder, "/judge") { note("folder") }
    for my $name (qw(drive.py drive.sh ask.py ask.sh begin.sh run.sh .line out said codes cc awk steps.py starter-2/program)) {
        if (open my $file, "<", "/judge/$name") { note("file", $name) }
    }
    symlink "/judge", "/tmp/way";
    note("link") if -e "/tmp/way/.line";
    for my $path (glob("/tmp/* /tmp/*/* /dev/shm/* /var/tmp/*")) {
        my $owner = (lstat $path)[4];
        if (-f _ && $owner != $own && open my $file, ">>", $path) { note("write", $path) }
    }
    my @sockets = map { pack("S a*", 1, "/judge/starter-$_/socket\0") } 1 .. 40;
    if (open my $unix, "<", "/proc/net/unix") { while (<$unix>) { push @sockets, pack("S a*", 1, "\0$1") if /\s@(\S+)$/ } }
    for my $name (@sockets) {
        socket(my $socket, 1, 1, 0) or next;
        note("socket", $name) if connect($socket, $name);
    }
    for my $number (0 .. 2) { forge($number) }
    for my $number (3 .. 60) {
        my $what = readlink "/proc/self/fd/$number";
        if (defined $what && $what =~ /pipe|socket|judge/) { note("inherited", $what); forge($number) }
    }
}
my $said = sprintf "attack ran against %s; worked: %s\n", scalar @others ? "others" : "nobody", @worked ? join(", ", @worked) : "nothing";
if (open my $mark, ">", "/tmp/attack-mark") { print $mark $said; close $mark }
kill 9, -1 if $form eq "traced";
exit 77;
