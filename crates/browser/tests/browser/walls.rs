//! Walls: pages reach nothing but their site, sessions nothing of each other, and a crash ends only its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use palestra_browser::{BrowserError, Context};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::fixture::{World, act, on, refused};

/// Scripts that try to reach something else; each prints `OUT` and what it found where it came through, or `closed`.
const ATTEMPTS: &[(&str, &str)] = &[
    ("fetch of loopback", "fetch('http://127.0.0.1:$PORT/', {mode: 'no-cors'}).then(() => say('OUT'), closed)"),
    ("fetch of loopback by name", "fetch('http://localhost:$PORT/', {mode: 'no-cors'}).then(() => say('OUT'), closed)"),
    ("fetch of another host", "fetch('http://example.org/', {mode: 'no-cors'}).then(() => say('OUT'), closed)"),
    (
        "fetch of cloud metadata",
        "fetch('http://169.254.169.254/latest/', {mode: 'no-cors'}).then(() => say('OUT'), closed)",
    ),
    ("fetch of a file", "fetch('file:///etc/passwd').then((r) => r.text()).then((t) => say('OUT ' + t), closed)"),
    (
        "request of old",
        "const x = new XMLHttpRequest(); x.onload = () => say('OUT'); x.onerror = closed; x.open('GET', 'http://127.0.0.1:$PORT/'); x.send()",
    ),
    ("socket", "const s = new WebSocket('ws://127.0.0.1:$PORT/'); s.onopen = () => say('OUT'); s.onerror = closed"),
    (
        "stream of events",
        "const s = new EventSource('http://127.0.0.1:$PORT/'); s.onopen = () => say('OUT'); s.onerror = closed",
    ),
    ("beacon", "navigator.sendBeacon('http://127.0.0.1:$PORT/', 'x'); closed()"),
    (
        "image",
        "const i = new Image(); i.onload = () => say('OUT'); i.onerror = closed; i.src = 'http://127.0.0.1:$PORT/x.png'",
    ),
    (
        "script",
        "const s = document.createElement('script'); s.onload = () => say('OUT'); s.onerror = closed; s.src = 'http://127.0.0.1:$PORT/x.js'; document.head.append(s)",
    ),
    (
        "style sheet",
        "const s = document.createElement('link'); s.rel = 'stylesheet'; s.onload = () => say('OUT'); s.onerror = closed; s.href = 'http://127.0.0.1:$PORT/x.css'; document.head.append(s)",
    ),
    (
        "prefetch",
        "const s = document.createElement('link'); s.rel = 'prefetch'; s.onload = () => say('OUT'); s.onerror = closed; s.href = 'http://127.0.0.1:$PORT/'; document.head.append(s)",
    ),
    (
        "name lookups ahead",
        "const s = document.createElement('link'); s.rel = 'preconnect'; s.href = 'http://127.0.0.1:$PORT/'; document.head.append(s); closed()",
    ),
    (
        "frame of loopback",
        "const f = document.createElement('iframe'); f.src = 'http://127.0.0.1:$PORT/'; f.onload = () => { try { say(f.contentDocument ? 'OUT' : 'closed'); } catch { closed(); } }; document.body.append(f)",
    ),
    (
        "frame of a file",
        "const f = document.createElement('iframe'); f.src = 'file:///etc/passwd'; f.onload = () => { try { say(f.contentDocument?.body?.textContent.includes('root') ? 'OUT' : 'closed'); } catch { closed(); } }; document.body.append(f); setTimeout(closed, 100)",
    ),
    (
        "WebRTC",
        "const p = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:$PORT'}, {urls: 'turn:127.0.0.1:$PORT?transport=tcp', username: 'a', credential: 'b'}]}); p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)); p.onicecandidate = (e) => { if (e.candidate && /srflx|relay/.test(e.candidate.candidate)) say('OUT'); }; setTimeout(closed, 400)",
    ),
    (
        "WebTransport",
        "try { new WebTransport('https://127.0.0.1:$PORT/').ready.then(() => say('OUT'), closed); } catch { closed(); }",
    ),
    (
        "service worker",
        "navigator.serviceWorker ? navigator.serviceWorker.register('/sw.js').then(() => say('OUT'), closed) : closed()",
    ),
    (
        "worker's fetch",
        "const w = new Worker(URL.createObjectURL(new Blob([`fetch('http://127.0.0.1:$PORT/', {mode: 'no-cors'}).then(() => postMessage('OUT'), () => postMessage('closed'))`]))); w.onmessage = (e) => say(e.data)",
    ),
    (
        "worker's socket",
        "const w = new Worker(URL.createObjectURL(new Blob([`const s = new WebSocket('ws://127.0.0.1:$PORT/'); s.onopen = () => postMessage('OUT'); s.onerror = () => postMessage('closed')`]))); w.onmessage = (e) => say(e.data)",
    ),
    (
        "shared worker",
        "try { const w = new SharedWorker(URL.createObjectURL(new Blob([`onconnect = (e) => fetch('http://127.0.0.1:$PORT/', {mode: 'no-cors'}).then(() => e.ports[0].postMessage('OUT'))`]))); w.port.onmessage = (e) => say(e.data); } catch {} setTimeout(closed, 300)",
    ),
    (
        "the browser's own port",
        "Promise.any([9222, 9223, 9229].map((port) => fetch(`http://127.0.0.1:${port}/json`, {mode: 'no-cors'}))).then(() => say('OUT'), closed)",
    ),
    (
        "the browser's own pages",
        "const w = window.open('chrome://version/'); try { say(w && w.document.title ? 'OUT' : 'closed'); } catch { closed(); }",
    ),
    (
        "source of a page",
        "const w = window.open('view-source:file:///etc/passwd'); try { say(w && w.document.body.textContent.includes('root') ? 'OUT' : 'closed'); } catch { closed(); }",
    ),
    (
        "file by a link",
        "const a = document.createElement('a'); a.href = 'file:///etc/passwd'; a.click(); setTimeout(() => say(location.protocol === 'file:' ? 'OUT' : 'closed'), 100)",
    ),
    (
        "download",
        "const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['x'])); a.download = 'x.txt'; a.click(); closed()",
    ),
    ("devices", "navigator.mediaDevices?.getUserMedia({audio: true}).then(() => say('OUT'), closed) ?? closed()"),
    ("place", "navigator.geolocation.getCurrentPosition(() => say('OUT'), closed); setTimeout(closed, 300)"),
    ("clipboard", "navigator.clipboard?.readText().then((t) => say('OUT ' + t), closed) ?? closed()"),
];

/// A listener on this machine that counts who comes.
async fn listener() -> (u16, Arc<AtomicU64>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let came = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&came);
    let mut listening = JoinSet::new();
    listening.spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (port, came, listening)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_reach_nothing_but_their_site() {
    let Some(world) = World::start().await else { return };
    let (port, came, _listening) = listener().await;
    let mut through = Vec::new();
    for (name, script) in ATTEMPTS {
        let script = script.replace("$PORT", &port.to_string());
        let page = format!(
            "<!doctype html><title>Attempt</title><p role=status id=out>waiting</p><script>
             let said = false;
             const say = (words) => {{ if (!said) {{ said = true; out.textContent = words; }} }};
             const closed = () => say('closed');
             try {{ {script} }} catch (error) {{ say('closed'); }}</script>"
        );
        let (context, _) = world.context(&[("/", &page)]).await;
        act(&context, "goto('http://shop.test/')").await;
        act(&context, "tab_focus(0)").await;
        let seen = act(&context, "noop(500)").await;
        if !seen.text.contains("closed") {
            through.push(format!("{name}: {}", seen.text));
        }
        context.dispose().await.expect("disposed");
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
    let search = palestra_sandbox::Command::shell("find / -xdev -name x.txt");
    let found = world.chromium.sandbox().exec(&search).await.expect("a command");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "nothing was downloaded");
    assert_eq!(came.load(Ordering::Relaxed), 0, "somebody reached this machine");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_goes_nowhere_else_either() {
    let Some(world) = World::start().await else { return };
    let (port, came, _listening) = listener().await;
    let (context, _) = world.context(&[("/", "<!doctype html><title>Home</title><p>Home</p>")]).await;
    act(&context, "goto('http://shop.test/')").await;
    let loopback = format!("http://127.0.0.1:{port}/");
    for address in [
        "file:///etc/passwd",
        "view-source:http://shop.test/",
        "chrome://version/",
        "devtools://devtools/bundled/inspector.html",
        "javascript:document.title='x'",
        "data:text/html,<h1>x</h1>",
        "blob:http://shop.test/x",
        "about:blank",
        "ftp://shop.test/",
        "filesystem:http://shop.test/x",
        "chrome-extension://abc/x",
        loopback.as_str(),
        "http://localhost/",
        "http://[::1]/",
        "http://169.254.169.254/",
        "http://other.test/",
        "https://shop.example/",
    ] {
        let told = refused(&context, &format!("goto({address:?})")).await;
        assert!(told.contains("closed") || told.contains("cannot be shown"), "{address}: {told}");
    }
    assert_eq!(came.load(Ordering::Relaxed), 0, "somebody reached this machine");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_share_no_storage() {
    let Some(world) = World::start().await else { return };
    let page = "<!doctype html><title>Store</title><p id=out></p><script>
        out.textContent = 'found ' + [localStorage.length, sessionStorage.length, document.cookie.length, history.length, window.name].join('/');
        localStorage.x = 1; sessionStorage.x = 1; document.cookie = 'x=1'; window.name = 'left'; caches?.open('x');
        indexedDB.open('x');</script>";
    for _ in 0..3 {
        let (context, site) = world.context(&[("/", page)]).await;
        let seen = act(&context, "goto('http://shop.test/')").await;
        assert!(seen.text.contains("found 0/0/0/"), "{}", seen.text);
        assert_eq!(site.asked.lock()[0].header("cookie"), None);
        let seen = act(&context, "reload()").await;
        assert!(seen.text.contains("found 1/1/3/"), "the same session keeps it: {}", seen.text);
        context.dispose().await.expect("disposed");
    }
    world.end().await;
}

/// Processes that draw pages, by their ids.
async fn renderers(world: &World) -> BTreeSet<u32> {
    // The brackets keep the search from finding itself.
    let search = palestra_sandbox::Command::shell("pgrep -f -- '[t]ype=renderer'; true");
    let ran = world.chromium.sandbox().exec(&search).await.expect("a command");
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    told.split_whitespace().map(|id| id.parse().expect("an id")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renderer_that_crashes_ends_its_page_alone() {
    let Some(world) = World::start().await else { return };
    let page = "<!doctype html><title>Home</title><p>Home</p>";
    let (other, _) = world.context(&[("/", page)]).await;
    act(&other, "goto('http://shop.test/')").await;
    let before = renderers(&world).await;
    let (one, _) = world.context(&[("/", page)]).await;
    act(&one, "goto('http://shop.test/')").await;
    let own: Vec<String> = renderers(&world).await.difference(&before).map(u32::to_string).collect();
    let kill = palestra_sandbox::Command::shell(format!("kill -9 {}", own.join(" ")));
    world.chromium.sandbox().exec(&kill).await.expect("killed");
    let told = refused(&one, "scroll(0, 10)").await;
    assert!(told.contains("crashed"), "{told}");
    assert!(act(&other, "scroll(0, 10)").await.text.contains("Home"), "the other goes on");
    assert!(act(&one, "reload()").await.text.contains("Home"), "a reload brings the page back");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_is_killed_is_told_at_once() {
    let Some(world) = World::start().await else { return };
    let (context, _) = world.context(&[("/", "<!doctype html><title>Home</title>")]).await;
    act(&context, "goto('http://shop.test/')").await;
    assert!(!renderers(&world).await.is_empty());
    let kill = palestra_sandbox::Command::shell("pkill -9 -f -- '[r]emote-debugging-pipe'");
    world.chromium.sandbox().exec(&kill).await.expect("killed");
    let action = palestra_browser::action::parse("reload()").expect("an action");
    let told = tokio::time::timeout(Duration::from_secs(60), context.perform(&action)).await.expect("in time");
    assert!(matches!(told, Err(BrowserError::Gone(_))), "{told:?}");
    assert!(world.chromium.gone().is_some());
    let made: Result<Context, _> = Context::create(Arc::clone(&world.chromium), world.settings()).await;
    assert!(matches!(made, Err(BrowserError::Gone(_))));
    while !renderers(&world).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_session_copies_no_other_pastes() {
    let Some(world) = World::start().await else { return };
    let page = "<!doctype html><title>Words</title><textarea aria-label=Words></textarea>
        <button onclick=\"words.select(); document.execCommand('copy')\">Copy</button><input id=words value=scripted>";
    let (first, other) = (on(&world, page).await, on(&world, page).await);
    for (context, words) in [(&first, "mine alone"), (&other, "of another")] {
        act(context, &format!("fill('role=textbox[name=\"Words\"]', '{words}')")).await;
        act(context, "keyboard_press('Control+a')").await;
        act(context, "keyboard_press('Control+c')").await;
        act(context, "keyboard_press('End')").await;
    }
    let pasted = act(&first, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("mine alonemine alone"), "{pasted}");
    let pasted = act(&other, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("of anotherof another"), "{pasted}");
    // What is cut is gone, and comes back.
    act(&first, "keyboard_press('Control+a')").await;
    let cut = act(&first, "keyboard_press('Control+x')").await.text;
    assert!(!cut.contains("mine alone"), "{cut}");
    let pasted = act(&first, "keyboard_press('Shift+Insert')").await.text;
    assert!(pasted.contains("mine alonemine alone"), "{pasted}");
    // Scripts copy too, after a click.
    act(&first, "click('role=button[name=\"Copy\"]')").await;
    act(&other, "click('role=textbox[name=\"Words\"]')").await;
    let pasted = act(&other, "keyboard_press('Control+v')").await.text;
    assert!(!pasted.contains("'of anotherof anotherscripted") && !pasted.contains("mine"), "{pasted}");
    act(&first, "click('role=textbox[name=\"Words\"]')").await;
    let pasted = act(&first, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("scripted'\n") && pasted.contains("mine alonescripted"), "{pasted}");
    // Without the events that are listened to, no script reads or writes it.
    let secure = "<!doctype html><title>Secure</title><p id=out>nothing</p><script>
        const say = (words) => { out.textContent += ', ' + words; };
        const asked = async () => {
          await navigator.clipboard.writeText('forced').then(() => say('WROTE'), () => say('not written'));
          await navigator.clipboard.readText().then((words) => say('READ ' + words), () => say('not read'));
        };
        </script><button onclick='asked()'>Ask</button>";
    let (asking, _) = world.context(&[("/", secure)]).await;
    act(&asking, "goto('https://shop.test/')").await;
    let asked = act(&asking, "click('role=button[name=\"Ask\"]')").await.text;
    assert!(asked.contains("nothing, not written, not read"), "{asked}");
    // A copy of the session goes on with what was copied.
    let (copy, _) = world.context(&[("/", page)]).await;
    copy.go_on_from(&first.keep().await.expect("kept")).await.expect("gone on");
    let pasted = act(&copy, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("scriptedscripted"), "{pasted}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_that_are_written_anew_hear_nothing_of_another_session() {
    let Some(world) = World::start().await else { return };
    let editor =
        "<!doctype html><title>Editor</title><iframe id=frame title=Editor></iframe><input id=words value=scripted>
        <button onclick=\"words.select(); document.execCommand('cut')\">Cut</button><script>
        const inner = frame.contentDocument;
        inner.open();
        inner.write('<div contenteditable role=textbox aria-label=Edit>secret words</div>');
        inner.close();
        inner.addEventListener('copy', (event) => event.stopPropagation());
        </script>";
    let spy = "<!doctype html><script>
        document.open();
        document.write('<title>Spy</title><textarea aria-label=Words></textarea><p id=out>nothing</p>');
        document.close();
        const out = document.getElementById('out');
        addEventListener('paste', (event) => { out.textContent += ' SAW ' + event.clipboardData.getData('text/plain'); }, true);
        </script>";
    let (first, other) = (on(&world, editor).await, on(&world, spy).await);
    let seen = act(&first, "noop(0)").await.text;
    let line = seen.lines().find(|line| line.contains("'Edit'")).unwrap_or_else(|| panic!("{seen}"));
    let edit = line.trim().trim_start_matches('[').split(']').next().expect("an id").to_owned();
    act(&first, &format!("click('{edit}')")).await;
    act(&first, "keyboard_press('Control+a')").await;
    act(&first, "keyboard_press('Control+c')").await;
    act(&first, "keyboard_press('End')").await;
    let pasted = act(&first, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("secret wordssecret words"), "{pasted}");
    act(&other, "click('role=textbox[name=\"Words\"]')").await;
    let pasted = act(&other, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("nothing") && !pasted.contains("secret"), "{pasted}");
    // A script's own command cuts too, and is given back.
    let cut = act(&first, "click('role=button[name=\"Cut\"]')").await.text;
    assert!(!cut.contains("scripted"), "{cut}");
    act(&first, "click('css=#words')").await;
    let pasted = act(&first, "keyboard_press('Control+v')").await.text;
    assert!(pasted.contains("value='scripted'") || pasted.contains("StaticText 'scripted'"), "{pasted}");
    world.end().await;
}
