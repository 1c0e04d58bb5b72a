//! Effects of actions: keys, dialogs, tabs, frames, shadow roots, dragging, files, scrolling.

use std::sync::Arc;

use palestra_browser::{Context, Settings, Site};

use crate::fixture::{Memory, NOW_MS, World, act, on, refused};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_type_move_and_are_held_together() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Keys</title><input aria-label="Text" value="old"><textarea aria-label="Lines"></textarea>
        <p id="out"></p><script>
        document.querySelector('input').onkeydown = (e) => { out.textContent += `${e.ctrlKey ? 'C-' : ''}${e.shiftKey ? 'S-' : ''}${e.key};`; };
        </script>"#;
    let context = on(&world, page).await;
    let text = "role=textbox[name=\"Text\"]";
    let seen = act(&context, &format!("press('{text}', 'Control+a')")).await;
    assert!(seen.text.contains("C-Control;C-a;"), "{}", seen.text);
    act(&context, "keyboard_type('New é!')").await;
    let seen = act(&context, &format!("press('{text}', 'Shift+ArrowLeft')")).await;
    assert!(seen.text.contains("textbox 'Text' value='New é!', focused"), "{}", seen.text);
    assert!(seen.text.contains("S-Shift;S-ArrowLeft;"), "{}", seen.text);
    let seen = act(&context, "keyboard_press('Delete')").await;
    assert!(seen.text.contains("value='New é'"), "{}", seen.text);
    act(&context, "focus('role=textbox[name=\"Lines\"]')").await;
    act(&context, "keyboard_type('a\\nb')").await;
    let seen = act(&context, "keyboard_insert_text(' c')").await;
    assert!(seen.text.contains("value='a\\nb c'"), "{}", seen.text);
    let seen = act(&context, &format!("clear('{text}')")).await;
    assert!(!seen.text.contains("New"), "{}", seen.text);
    assert!(refused(&context, "keyboard_press('Nonsense')").await.contains("no key"));
    assert!(refused(&context, "keyboard_press('a+b')").await.contains("cannot be held"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_buttons_stay_down_until_they_are_let_go() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Held</title><style>div{width:120px;height:60px;background:#ccc;margin:9px}</style>
        <input aria-label="Text" value="abc"><button>Press</button>
        <div id="card" draggable="true">Card</div><div id="bin">Bin</div><div id="box">Box</div><p id="out"></p><p id="moved"></p>
        <script>
        const input = document.querySelector('input');
        input.onkeydown = (e) => { out.textContent += `${e.ctrlKey ? 'C-' : ''}${e.shiftKey ? 'S-' : ''}${e.key};`; };
        document.querySelector('button').onclick = (e) => { out.textContent = `pressed ${e.shiftKey}`; };
        card.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'card');
        bin.ondragover = (e) => e.preventDefault();
        bin.ondrop = (e) => { out.textContent = 'dropped ' + e.dataTransfer.getData('text/plain'); };
        card.ondragend = () => { moved.textContent = 'ended'; };
        document.onmousemove = (e) => { if (e.buttons === 1) moved.textContent = `at ${e.clientX}`; };
        </script>"#;
    let context = on(&world, page).await;
    act(&context, "focus('role=textbox[name=\"Text\"]')").await;
    act(&context, "keyboard_press('End')").await;
    act(&context, "keyboard_down('Shift')").await;
    act(&context, "keyboard_press('ArrowLeft')").await;
    let seen = act(&context, "keyboard_press('k')").await;
    assert!(seen.text.contains("S-Shift;S-ArrowLeft;S-K;") && seen.text.contains("value='abK'"), "{}", seen.text);
    let seen = act(&context, "click('role=button[name=\"Press\"]')").await;
    assert!(seen.text.contains("pressed true"), "{}", seen.text);
    // What replaces a text is no shortcut.
    let seen = act(&context, "fill('role=textbox[name=\"Text\"]', 'new')").await;
    assert!(seen.text.contains("value='new'"), "{}", seen.text);
    act(&context, "keyboard_up('Shift')").await;
    let seen = act(&context, "click('role=button[name=\"Press\"]')").await;
    assert!(seen.text.contains("pressed false"), "{}", seen.text);

    act(&context, "mouse_down(60, 220)").await;
    let seen = act(&context, "mouse_move(200, 220)").await;
    assert!(seen.text.contains("at 200"), "{}", seen.text);
    act(&context, "mouse_up(300, 220)").await;
    let seen = act(&context, "mouse_move(400, 220)").await;
    assert!(seen.text.contains("at 300"), "the button is up: {}", seen.text);

    act(&context, "mouse_down(60, 80)").await;
    act(&context, "mouse_move(70, 90)").await;
    act(&context, "mouse_move(60, 150)").await;
    let seen = act(&context, "mouse_up(60, 150)").await;
    assert!(seen.text.contains("dropped card") && seen.text.contains("ended"), "{}", seen.text);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialogs_hold_a_page_up_until_they_are_ended() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Dialogs</title><button onclick="out.textContent = prompt('Name?', 'Ada')">Ask</button>
        <button onclick="setTimeout(() => { alert('late'); out.textContent = 'after'; }, 200)">Later</button><p id="out"></p>"#;
    let context = on(&world, page).await;
    let seen = act(&context, "click('role=button[name=\"Ask\"]')").await;
    let dialog = seen.dialog.expect("a dialog");
    assert_eq!(
        (dialog.kind.as_str(), dialog.message.as_str(), dialog.default_text.as_str()),
        ("prompt", "Name?", "Ada")
    );
    assert!(refused(&context, "click('role=button[name=\"Ask\"]')").await.contains("Name?"));
    let seen = act(&context, "dialog_accept('Grace')").await;
    assert!(seen.dialog.is_none() && seen.text.contains("'Grace'"), "{}", seen.text);
    act(&context, "click('role=button[name=\"Ask\"]')").await;
    let seen = act(&context, "dialog_dismiss()").await;
    assert!(!seen.text.contains("Grace"), "{}", seen.text);
    let seen = act(&context, "click('role=button[name=\"Later\"]')").await;
    assert_eq!(seen.dialog.expect("a dialog of a timer").message, "late");
    let seen = act(&context, "dialog_accept()").await;
    assert!(seen.text.contains("after"), "{}", seen.text);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tabs_are_opened_by_actions_and_by_pages_and_have_an_order() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>First</title><a href="/other" target="_blank">Other in a tab</a>"#;
    let context = on(&world, page).await;
    let seen = act(&context, "click('role=link[name=\"Other in a tab\"]')").await;
    assert_eq!((seen.tabs.len(), seen.active), (2, 1));
    assert_eq!(seen.tabs[1].title, "Other");
    let seen = act(&context, "new_tab()").await;
    assert_eq!((seen.tabs.len(), seen.active), (3, 2));
    let seen = act(&context, "tab_focus(0)").await;
    assert!(seen.active == 0 && seen.text.contains("First"), "{}", seen.text);
    assert!(refused(&context, "tab_focus(7)").await.contains("there are 3"));
    act(&context, "tab_focus(2)").await;
    let seen = act(&context, "tab_close()").await;
    assert_eq!((seen.tabs.len(), seen.active), (2, 1));
    act(&context, "tab_close()").await;
    let seen = act(&context, "tab_close()").await;
    assert_eq!((seen.tabs.len(), seen.tabs[0].url.as_str()), (1, "about:blank"), "the last tab leaves an empty one");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elements_of_frames_and_shadow_roots_have_ids_and_keep_them() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Frames</title><iframe srcdoc="<button onclick=&quot;this.textContent='Pressed'&quot;>Inner</button>"></iframe>
        <div id="host"></div><button onclick="host.before(document.createElement('hr'), Object.assign(document.createElement('button'), {textContent: 'New'}))">Add</button>
        <script>host.attachShadow({mode: 'closed'}).innerHTML = '<label>Deep <input></label>';</script>"#;
    let context = on(&world, page).await;
    let seen = act(&context, "noop(0)").await;
    println!("{}", seen.text);
    let id = |text: &str, words: &str| {
        let line = text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
        line.trim().trim_start_matches('[').split(']').next().expect("an id").to_owned()
    };
    let (inner, deep, add) = (id(&seen.text, "'Inner'"), id(&seen.text, "textbox 'Deep'"), id(&seen.text, "'Add'"));
    assert!(inner.starts_with('a'), "{inner}");
    let seen = act(&context, &format!("click('{inner}')")).await;
    assert_eq!(id(&seen.text, "button 'Pressed'"), inner, "an element keeps its id");
    let seen = act(&context, &format!("fill('{deep}', 'found')")).await;
    assert!(seen.text.contains("value='found'"), "{}", seen.text);
    let seen = act(&context, &format!("click('{add}')")).await;
    assert_eq!((id(&seen.text, "textbox 'Deep'"), id(&seen.text, "'Add'")), (deep, add));
    assert!(seen.text.contains("button 'New'"), "{}", seen.text);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn things_are_dragged_files_uploaded_and_pages_scrolled() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Drag</title><style>div{width:120px;height:60px;background:#ccc;margin:9px}</style>
        <div id="card" role="group" aria-label="Card" draggable="true">Card</div><div id="bin" role="group" aria-label="Bin">Bin</div>
        <div id="box" role="group" aria-label="Box">Box</div><input type="file" aria-label="File" multiple>
        <button onclick="document.querySelector('input').click()">Choose</button><p id="out"></p><p id="moved"></p><p id="down" style="height:3000px"></p>
        <script>
        card.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'card');
        bin.ondragover = (e) => e.preventDefault();
        bin.ondrop = (e) => { out.textContent = 'dropped ' + e.dataTransfer.getData('text/plain'); };
        box.onmousedown = () => { box.held = true; };
        document.onmousemove = (e) => { if (box.held && e.buttons === 1) moved.textContent = `at ${e.clientX}`; };
        document.onmouseup = () => { box.held = false; };
        document.querySelector('input').onchange = async (e) => {
          out.textContent = (await Promise.all([...e.target.files].map(async (f) => f.name + ':' + await f.text()))).join(', ');
        };
        onscroll = () => { moved.textContent = 'scrolled ' + scrollY; };
        </script>"#;
    let site = Arc::new(Memory::new(&[("/", page)]));
    let files = vec![("a.txt".to_owned(), b"alpha".to_vec()), ("b.txt".to_owned(), b"beta".to_vec())];
    let settings = Settings { files, ..Settings::new(site as Arc<dyn Site>, NOW_MS, 1) };
    let context = Context::create(Arc::clone(&world.chromium), settings).await.expect("a context");
    act(&context, "goto('http://shop.test/')").await;
    let seen = act(&context, "drag_and_drop('role=group[name=\"Card\"]', 'role=group[name=\"Bin\"]')").await;
    assert!(seen.text.contains("dropped card"), "{}", seen.text);
    let seen = act(&context, "mouse_drag_and_drop(60, 180, 300, 180)").await;
    assert!(seen.text.contains("at 300"), "{}", seen.text);
    let seen = act(&context, "upload_file('role=button[name=\"File\"]', ['a.txt', 'b.txt'])").await;
    assert!(seen.text.contains("a.txt:alpha, b.txt:beta"), "{}", seen.text);
    let seen = act(&context, "upload_file('role=button[name=\"Choose\"]', 'b.txt')").await;
    assert!(seen.text.contains("'b.txt:beta'"), "{}", seen.text);
    assert!(
        refused(&context, "upload_file('role=button[name=\"File\"]', '/etc/passwd')").await.contains("a.txt, b.txt")
    );
    let seen = act(&context, "scroll(0, 400)").await;
    assert!(seen.text.contains("scrolled 400"), "{}", seen.text);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_with_an_element_is_told() {
    let Some(world) = World::start().await else { return };
    let page = r#"<!doctype html><title>Refusals</title><button disabled>Off</button><input aria-label="Fixed" readonly>
        <select aria-label="One"><option>A</option><option disabled>B</option></select><button>Twin</button><button>Twin</button>
        <button style="position:absolute;left:0;top:300px">Under</button><div id="cover" style="position:absolute;left:0;top:250px;width:500px;height:200px">Cover</div>
        <button style="display:none">Hidden</button><input type="date" aria-label="Day">
        <details style="position:fixed;left:0;bottom:0"><summary>Even more</summary><a href="/below">Folded far down</a></details>
        <details><summary>More</summary><a href="/away">Folded</a><input aria-label="Folded too">
        <select aria-label="Folded list"><option>A</select></details>
        <div style="pointer-events:none"><button>Untouched</button></div>
        <button style="position:absolute;left:0;top:1200px" onclick="this.textContent='Clicked'">Below</button>
        <p style="position:absolute;left:0;top:2000px">End</p>"#;
    let context = on(&world, page).await;
    for (call, why) in [
        ("click('role=button[name=\"Off\"]')", "disabled"),
        ("fill('role=textbox[name=\"Fixed\"]', 'x')", "only be read"),
        ("select_option('role=combobox[name=\"One\"]', 'C')", "there are \"A\", \"B\""),
        ("select_option('role=combobox[name=\"One\"]', 'B')", "is disabled"),
        ("select_option('role=combobox[name=\"One\"]', ['A', 'B'])", "disabled"),
        ("click('role=combobox[name=\"One\"]')", "use select_option"),
        ("click('role=button[name=\"Twin\"]')", "2 elements are"),
        ("click('role=button[name=\"Under\"]')", "<div#cover> lies over it"),
        ("click('css=button[style*=none]')", "cannot be seen"),
        ("click('css=a[href=\"/away\"]')", "cannot be seen"),
        ("click('css=a[href=\"/below\"]')", "cannot be seen"),
        ("fill('css=details input', 'x')", "cannot be seen"),
        ("select_option('css=details select', 'A')", "cannot be seen"),
        ("click('role=button[name=\"Untouched\"]')", "lies over it"),
        ("fill('role=button[name=\"Twin\"][nth=0]', 'x')", "takes no text"),
        ("check('role=button[name=\"Twin\"][nth=0]')", "neither on nor off"),
        ("fill('css=input[type=date]', 'tomorrow')", "does not take"),
        ("click('css=[')", "cannot be looked for"),
        ("wait_for('text=Never', 300)", "is not there"),
        ("click('role=')", "cannot be read"),
    ] {
        let told = refused(&context, call).await;
        assert!(told.contains(why), "{call}: {told}");
    }
    act(&context, "scroll(0, 600)").await;
    let seen = act(&context, "click('role=button[name=\"Below\"]')").await;
    assert!(seen.text.contains("Clicked"), "a page that is scrolled: {}", seen.text);
    let seen = act(&context, "fill('css=input[type=date]', '2031-05-09')").await;
    assert!(seen.text.contains("2031-05-09"), "{}", seen.text);
    world.end().await;
}
