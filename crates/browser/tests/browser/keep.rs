//! Pages are kept, and gone on from in a fresh context.

use std::time::Instant;

use crate::fixture::{World, act};

const FIRST: &str = "<!doctype html><title>First</title><h1>First</h1><a href=/form>On</a>
    <script>localStorage.name = 'Ada'; sessionStorage.turn = 3; document.cookie = 'sort=up';</script>";
const FORM: &str = r#"<!doctype html><title>Form</title><h1>Form</h1>
    <label>Name <input id=name></label><label>Long <textarea>one</textarea></label>
    <label><input type=checkbox> Agree</label><label>Size <select><option>S<option>M</select></label>
    <details><summary>More</summary><p>Folded</p></details>
    <dialog id=ask aria-label="Ask"><button onclick="this.textContent='Pressed'">Inside</button></dialog><button onclick="ask.showModal()">Open</button>
    <iframe srcdoc="<label>Framed <input></label>"></iframe>
    <div id=host></div><div style="height:3000px"></div><p id=out></p><a href=/last>Last</a>
    <script>
      host.attachShadow({mode: 'open'}).innerHTML = '<label>Deep <input></label>';
      out.textContent = [localStorage.name, sessionStorage.turn, document.cookie].join(' ');
    </script>"#;
const LAST: &str = "<!doctype html><title>Last</title><h1>Last</h1>";
const LONG: &str = "<!doctype html><title>Long</title><div style='height:3000px'></div>
    <script>addEventListener('scroll', () => document.title = 'Long at ' + scrollY)</script>";
const PARTS: &str = "<!doctype html><title>Parts</title><a href='#end'>Down</a><p id=end>End</p>";
const PAGES: [(&str, &str); 3] = [("/", FIRST), ("/form", FORM), ("/last", LAST)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_goes_on_elsewhere_with_all_that_was_entered_stored_and_visited() {
    let Some(world) = World::start().await else { return };
    let (context, _) = world.context(&PAGES).await;
    for call in [
        "goto('http://shop.test/')",
        "click('role=link[name=\"On\"]')",
        "click('role=link[name=\"Last\"]')",
        "go_back()",
        "fill('css=#name', 'Bruno')",
        "fill('role=textbox[name=\"Long\"]', 'two\\nlines')",
        "fill('role=textbox[name=\"Framed\"]', 'within')",
        "fill('role=textbox[name=\"Deep\"]', 'below')",
        "check('css=input[type=checkbox]')",
        "select_option('css=select', 'M')",
        "click('role=DisclosureTriangle[name=\"More\"]')",
        "click('role=button[name=\"Open\"]')",
    ] {
        act(&context, call).await;
    }
    let seen = context.observe().await.expect("a look");
    let begun = Instant::now();
    let kept = context.keep().await.expect("kept");
    println!("kept in {:?}", begun.elapsed());
    // It can be written down.
    let kept = serde_json::from_str(&serde_json::to_string(&kept).expect("JSON")).expect("the same");
    let (other, site) = world.context(&PAGES).await;
    let begun = Instant::now();
    let differs = other.go_on_from(&kept).await.expect("gone on");
    println!("gone on in {:?}", begun.elapsed());
    assert_eq!(differs, None);
    let again = other.observe().await.expect("a look");
    assert_eq!(
        (&again.text, &again.tabs, &again.focused),
        (&seen.text, &seen.tabs, &seen.focused),
        "the same, with its ids"
    );
    assert_eq!(site.asked.lock().len(), 1, "only the present page is asked for: {:?}", site.asked.lock());
    assert_eq!(other.now_ms(), context.now_ms());
    // An id of before names the same element.
    let line = seen.text.lines().find(|line| line.contains("button 'Inside'")).expect("a button");
    let id = line.trim().trim_start_matches('[').split(']').next().expect("an id");
    let pressed = act(&other, &format!("click('{id}')")).await;
    assert!(pressed.text.contains(&format!("[{id}] button 'Pressed'")), "{}", pressed.text);
    let here = context.observe().await.expect("a look");
    assert!(here.text.contains("button 'Inside'"), "the first is as it was");
    let below = act(&other, "keyboard_press('Escape')").await;
    for words in [
        "Ada 3 sort=up",
        "'Bruno'",
        "two\\nlines",
        "value='within'",
        "value='below'",
        "checked='true'",
        "value='M'",
        "Folded",
    ] {
        assert!(below.text.contains(words), "{words}: {}", below.text);
    }
    // The history goes both ways, and leads to real pages.
    let back = act(&other, "go_back()").await;
    assert_eq!(back.tabs[0].title, "First");
    act(&other, "go_forward()").await;
    assert_eq!(act(&other, "go_forward()").await.tabs[0].title, "Last");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_and_tabs_are_kept_and_what_is_not_is_told() {
    let Some(world) = World::start().await else { return };
    let counting =
        "<!doctype html><title>Count</title><button onclick='out.textContent = ++count'>Add</button><p id=out>0</p>
        <script>let count = 0;</script>";
    let pages = [
        ("/", FIRST),
        ("/long", LONG),
        ("/count", counting),
        ("/ask", "<!doctype html><title>Ask</title><button onclick=alert(1)>Ask</button>"),
    ];
    let (context, _) = world.context(&pages).await;
    for call in
        ["goto('http://shop.test/long')", "scroll(0, 900)", "new_tab()", "goto('http://shop.test/')", "tab_focus(0)"]
    {
        act(&context, call).await;
    }
    let seen = act(&context, "noop(0)").await;
    assert_eq!(seen.tabs[0].title, "Long at 900");
    let kept = context.keep().await.expect("kept");
    let (other, _) = world.context(&pages).await;
    other.go_on_from(&kept).await.expect("gone on");
    let again = act(&other, "noop(0)").await;
    assert_eq!((again.tabs, again.active), (seen.tabs, 0));

    let (context, _) = world.context(&pages).await;
    act(&context, "goto('http://shop.test/count')").await;
    act(&context, "click('role=button[name=\"Add\"]')").await;
    let (other, _) = world.context(&pages).await;
    let differs = other.go_on_from(&context.keep().await.expect("kept")).await.expect("gone on");
    assert!(
        differs.as_deref().is_some_and(|words| words.contains("\"StaticText '0'\" where it showed \"StaticText '1'\"")),
        "{differs:?}"
    );

    let (context, _) = world.context(&pages).await;
    act(&context, "goto('http://shop.test/ask')").await;
    act(&context, "click('role=button[name=\"Ask\"]')").await;
    let (other, _) = world.context(&pages).await;
    let differs = other.go_on_from(&context.keep().await.expect("kept")).await.expect("gone on");
    assert!(differs.as_deref().is_some_and(|words| words.contains("dialog")), "{differs:?}");

    // Addresses within one document are entries of the history too.
    let (context, _) = world.context(&[("/parts", PARTS)]).await;
    act(&context, "goto('http://shop.test/parts')").await;
    let seen = act(&context, "click('role=link[name=\"Down\"]')").await;
    assert_eq!(seen.tabs[0].url, "http://shop.test/parts#end");
    let (other, _) = world.context(&[("/parts", PARTS)]).await;
    assert_eq!(other.go_on_from(&context.keep().await.expect("kept")).await.expect("gone on"), None);
    let back = act(&other, "go_back()").await;
    assert_eq!(back.tabs[0].url, "http://shop.test/parts");

    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_kept_however_deep_they_are_nested() {
    let Some(world) = World::start().await else { return };
    let deep = format!("<!doctype html><title>Deep</title>{}<input aria-label=Down>", "<div>".repeat(400));
    // Scripts nest deeper than a parser does.
    let deeper = "<!doctype html><title>Deeper</title><body><script>
        let node = document.body;
        for (let level = 0; level < 2000; level += 1) node = node.appendChild(document.createElement('div'));
        node.innerHTML = '<input aria-label=Down>';
    </script>";
    let pages = [("/deep", &*deep), ("/deeper", deeper)];
    for address in ["http://shop.test/deep", "http://shop.test/deeper"] {
        let (context, _) = world.context(&pages).await;
        act(&context, &format!("goto('{address}')")).await;
        act(&context, "click('role=textbox[name=\"Down\"]')").await;
        let (other, _) = world.context(&pages).await;
        let differs = other.go_on_from(&context.keep().await.expect("kept")).await.expect("gone on");
        assert_eq!(differs, None, "{address}");
        assert!(act(&other, "noop(0)").await.text.contains("textbox 'Down'"), "the copy goes on");
        assert!(act(&context, "noop(0)").await.text.contains("textbox 'Down'"), "and so does its session");
    }
    world.end().await;
}
