//! Pages: loaded, looked at, acted on.

use std::time::Instant;

use crate::fixture::{World, act, refused};

const HOME: &str = r#"<!doctype html><html lang="en"><title>Shop</title>
<h1>Shop</h1>
<a href="/second">Second page</a>
<form method="post" action="/order">
  <label>Name <input name="name" required></label>
  <label>Size <select name="size"><option value="s">Small</option><option value="l">Large</option></select></label>
  <label><input type="checkbox" name="gift" value="yes"> Gift</label>
  <button>Order</button>
</form>
<button id="later">Later</button>
<p id="out"></p>
<script>
  document.getElementById('later').onclick = () => setTimeout(() => { out.textContent = 'It is ' + new Date().toISOString(); }, 300);
  out.textContent = 'Begun ' + new Date().toISOString() + ' ' + Math.random();
</script>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_loaded_looked_at_and_acted_on() {
    let began = Instant::now();
    let Some(world) = World::start().await else { return };
    println!("start: {:?}, {}", began.elapsed(), world.chromium.version());
    let began = Instant::now();
    let (context, site) = world
        .context(&[
            ("/", HOME),
            ("/second", "<!doctype html><title>Two</title><h1>Two</h1>"),
            ("/done", "<!doctype html><title>Done</title><h1>Thank you</h1>"),
        ])
        .await;
    println!("context: {:?}", began.elapsed());
    let began = Instant::now();
    let seen = act(&context, "goto('http://shop.test/')").await;
    println!("goto: {:?}\n{}", began.elapsed(), seen.text);
    assert_eq!(seen.tabs[seen.active].title, "Shop");
    assert!(seen.text.starts_with("RootWebArea 'Shop'"), "{}", seen.text);
    assert!(seen.text.contains("Begun 2031-05-05T09:00:00.000Z 0."), "{}", seen.text);
    let began = Instant::now();
    let seen = act(&context, "click('role=button[name=\"Later\"]')").await;
    println!("click: {:?}", began.elapsed());
    assert!(seen.text.contains("It is 2031-05-05T09:00:00.800Z"), "{}", seen.text);
    act(&context, "fill('role=textbox[name=\"Name\"]', 'Ada Lovelace')").await;
    act(&context, "select_option('role=combobox[name=\"Size\"]', 'Large')").await;
    let seen = act(&context, "check('role=checkbox[name=\"Gift\"]')").await;
    println!("{}", seen.text);
    assert!(seen.text.contains("value='Ada Lovelace'") && seen.text.contains("checked='true'"), "{}", seen.text);
    let seen = act(&context, "click('role=button[name=\"Order\"]')").await;
    assert_eq!(seen.tabs[seen.active].url, "http://shop.test/done");
    let posted = site.asked.lock().iter().find(|request| request.method == "POST").cloned().expect("a post");
    assert_eq!(String::from_utf8_lossy(&posted.body), "name=Ada+Lovelace&size=l&gift=yes");
    let seen = act(&context, "go_back()").await;
    assert_eq!(seen.tabs[seen.active].title, "Shop");
    let seen = act(&context, "click('role=link[name=\"Second page\"]')").await;
    assert_eq!(seen.tabs[seen.active].title, "Two");
    for (call, why) in [
        ("goto('file:///etc/passwd')", "closed"),
        ("goto('nonsense')", "no address"),
        ("goto('http://other.test/')", "BLOCKED"),
        ("click('999')", "there is no element"),
        ("go_forward()", "no page after"),
        ("dialog_accept()", "no dialog"),
    ] {
        let told = refused(&context, call).await;
        assert!(told.contains(why), "{call}: {told}");
    }
    context.dispose().await.expect("disposed");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_lead_to_their_page_in_tabs_of_their_own() {
    let Some(world) = World::start().await else { return };
    let (context, site) =
        world.context(&[("/", HOME), ("/second", "<!doctype html><title>Two</title><h1>Two</h1>")]).await;
    for how in ["button='middle'", "modifiers=['Control']", "modifiers=['Shift']"] {
        act(&context, "goto('http://shop.test/')").await;
        let seen = act(&context, &format!("click('role=link[name=\"Second page\"]', {how})")).await;
        assert_eq!((seen.tabs.len(), seen.active), (2, 1), "{how}");
        assert_eq!(seen.tabs[1].url, "http://shop.test/second", "{how}");
        assert!(seen.text.starts_with("RootWebArea 'Two'"), "{how}: {}", seen.text);
        assert_eq!(seen.failed_requests, [], "{how}");
        let seen = act(&context, "tab_close()").await;
        assert_eq!(seen.tabs[seen.active].title, "Shop", "{how}");
    }
    let asked = site.asked.lock().iter().filter(|request| request.url.path() == "/second").count();
    assert_eq!(asked, 3);
    context.dispose().await.expect("gone");
    world.end().await;
}

/// A link that a timer follows into a tab of its own, once the clock of the page moves on.
const LATER: &str = "<!doctype html><title>Later</title><a href='/second' target='_blank' rel='noopener'>Second</a>
<button onclick='setTimeout(() => document.links[0].click(), 300)'>Later</button>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_that_a_timer_opened_is_there_when_it_is_looked_at() {
    let Some(world) = World::start().await else { return };
    let (context, _) =
        world.context(&[("/", LATER), ("/second", "<!doctype html><title>Two</title><h1>Two</h1>")]).await;
    act(&context, "goto('http://shop.test/')").await;
    for turn in 0..10 {
        let seen = act(&context, "click('role=button')").await;
        assert_eq!((seen.tabs.len(), seen.active), (2, 1), "turn {turn}");
        assert!(seen.text.starts_with("RootWebArea 'Two'"), "turn {turn}: {}", seen.text);
        act(&context, "tab_close()").await;
    }
    context.dispose().await.expect("gone");
    world.end().await;
}

/// Waits for a style and a script, one after the other, before it is whole.
const LINKED: &str =
    "<!doctype html><title>Linked</title><link rel='stylesheet' href='/style'><h1>Linked</h1><p>nothing</p>
<script src='/script'></script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_that_a_link_opened_is_whole_when_it_is_looked_at() {
    let Some(world) = World::start().await else { return };
    let style = format!("h1 {{ color: red }} /*{}*/", " ".repeat(1 << 20));
    let script = format!("document.querySelector('p').textContent = 'whole'; /*{}*/", " ".repeat(1 << 20));
    let (context, _) = world
        .context(&[
            ("/", "<!doctype html><a href='/linked'>Linked</a>"),
            ("/linked", LINKED),
            ("/style", &style),
            ("/script", &script),
        ])
        .await;
    act(&context, "goto('http://shop.test/')").await;
    for turn in 0..20 {
        let seen = act(&context, "click('role=link', modifiers=['Control'])").await;
        assert_eq!((seen.tabs.len(), seen.active), (2, 1), "turn {turn}");
        assert!(seen.text.contains("whole") && !seen.text.contains("busy"), "turn {turn}: {}", seen.text);
        act(&context, "tab_close()").await;
    }
    context.dispose().await.expect("gone");
    world.end().await;
}

/// Asks for one thing after the other, and tells the last.
const ASKING: &str = "<!doctype html><title>Asking</title><button>Ask</button><p>nothing</p><script>
document.querySelector('button').addEventListener('click', async () => {
  let said = '';
  for (const number of [1, 2, 3]) said += (await (await fetch(`/part?${number}`)).text()).trim();
  const asked = new XMLHttpRequest();
  asked.addEventListener('load', () => {
    document.querySelector('p').textContent = said + asked.responseText.trim();
    history.replaceState(null, '', `/?${document.title.length}`);
    document.title += '.';
  });
  asked.open('GET', '/part');
  asked.send();
});
</script>";

#[tokio::test]
async fn a_look_waits_for_what_scripts_make_of_their_answers() {
    let Some(world) = World::start().await else { return };
    // It takes its time from the server to the script.
    let part = format!("part{}", " ".repeat(4 << 20));
    let (context, _) = world.context(&[("/", ASKING), ("/part", &part)]).await;
    act(&context, "goto('http://shop.test/')").await;
    for turn in 0..8_usize {
        let seen = act(&context, "click('role=button')").await;
        let length = "Asking".len() + turn;
        assert_eq!(seen.tabs[0].url, format!("http://shop.test/?{length}"), "turn {turn}");
        assert_eq!(seen.tabs[0].title.len(), length + 1, "turn {turn}");
        assert!(seen.text.contains("partpartpartpart"), "turn {turn}: {}", seen.text);
    }
    context.dispose().await.expect("gone");
    world.end().await;
}

/// Asks within the frame that a look waits for: what is told of that is close before the answer that the frame was drawn.
const SCROLLING: &str = "<!doctype html><title>Scrolling</title><p style='position:fixed'>nothing</p><div style='height:9000px'></div><script>
addEventListener('scroll', async () => {
  await (await fetch('/part')).text();
  document.querySelector('p').textContent = `asked at ${scrollY}.`;
});
</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_waits_for_what_scripts_ask_for_as_their_page_is_drawn() {
    let Some(world) = World::start().await else { return };
    // A look without it would be there first.
    let part = "part".repeat(1 << 20);
    let (context, _) = world.context(&[("/", SCROLLING), ("/part", &part)]).await;
    act(&context, "goto('http://shop.test/')").await;
    for turn in 1..=20 {
        let seen = act(&context, "scroll(0, 100)").await;
        assert!(seen.text.contains(&format!("asked at {}.", turn * 100)), "turn {turn}: {}", seen.text);
    }
    context.dispose().await.expect("gone");
    world.end().await;
}
