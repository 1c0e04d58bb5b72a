//! Pictures of pages, their marks, and what is read of pages.

use palestra_browser::{ActionFailure, Context, Picture, PictureFormat, PictureSettings, action};

use crate::fixture::{World, on};

const PAGE: &str = r#"<!doctype html><title>Marks</title><style>body{margin:0;background:#fff}</style>
    <button style="position:absolute;left:20px;top:30px;width:100px;height:40px">Save</button>
    <button style="position:absolute;left:20px;top:100px;width:100px;height:40px">Covered</button>
    <div style="position:absolute;left:0;top:90px;width:300px;height:60px;background:#eee">Cover</div>
    <button disabled style="position:absolute;left:200px;top:30px">Off</button>
    <a href="/away" style="position:absolute;left:20px;top:900px;width:200px;height:20px;background:#0a0">Far <b>down</b></a>
    <p style="position:absolute;top:1500px">End <span style="display:none">unseen</span></p>"#;

async fn picture(context: &Context, settings: PictureSettings) -> Picture {
    match context.picture(&settings).await {
        Ok(picture) => picture,
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_have_the_size_and_the_encoding_that_were_asked_for() {
    let Some(world) = World::start().await else { return };
    let context = on(&world, PAGE).await;
    let plain = PictureSettings::default();
    let seen = picture(&context, plain).await;
    assert!(seen.bytes.starts_with(b"\x89PNG") && seen.marks.is_empty());
    assert_eq!((seen.width, seen.height), (1_280, 720));
    let half = picture(&context, PictureSettings { scale: 0.5, ..plain }).await;
    assert_eq!((half.width, half.height), (640, 360));
    let webp = picture(&context, PictureSettings { format: PictureFormat::Webp, ..plain }).await;
    assert_eq!((&webp.bytes[..4], &webp.bytes[8..12]), (&b"RIFF"[..], &b"WEBP"[..]));
    assert_eq!((webp.width, webp.height), (1_280, 720));
    let whole = picture(&context, PictureSettings { whole_page: true, ..plain }).await;
    assert!(whole.width == 1_280 && whole.height > 1_500, "{}", whole.height);
    let Err(ActionFailure::Told(why)) = context.picture(&PictureSettings { scale: 9.0, ..plain }).await else {
        panic!("a scale of 9 was taken")
    };
    assert!(why.contains("0.1 to 2"), "{why}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_frame_what_can_be_acted_on_and_nothing_else() {
    let Some(world) = World::start().await else { return };
    let context = on(&world, PAGE).await;
    let marked = PictureSettings { marks: true, ..PictureSettings::default() };
    let (plain, seen) = (picture(&context, PictureSettings::default()).await, picture(&context, marked).await);
    assert_ne!(plain.bytes, seen.bytes, "marks are drawn");
    let save = id_of(&context, "button 'Save'").await;
    let frames: Vec<_> =
        seen.marks.iter().map(|mark| (mark.id.clone(), mark.x, mark.y, mark.width, mark.height)).collect();
    assert_eq!(frames, [(save, 20.0, 30.0, 100.0, 40.0)]);
    // The page knows nothing of them.
    assert_eq!(picture(&context, PictureSettings::default()).await.bytes, plain.bytes);

    context.perform(&action::parse("scroll(0, 600)").expect("an action")).await.expect("it scrolls");
    let half = PictureSettings { scale: 0.5, format: PictureFormat::Webp, ..marked };
    let scrolled = picture(&context, half).await;
    let far = id_of(&context, "link 'Far down'").await;
    let frames: Vec<_> = scrolled.marks.iter().map(|mark| (mark.id.clone(), mark.x, mark.y)).collect();
    assert_eq!(frames, [(far.clone(), 20.0, 300.0)]);
    assert_eq!((&scrolled.bytes[8..12], scrolled.width), (&b"WEBP"[..], 640));
    let whole = picture(&context, PictureSettings { whole_page: true, ..marked }).await;
    assert!(whole.marks.iter().any(|mark| mark.id == far && (mark.y - 900.0).abs() < 0.5), "{:?}", whole.marks);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_any_size_have_a_picture_and_what_is_left_out_is_counted() {
    let Some(world) = World::start().await else { return };
    let buttons: String = (0..600).map(|number| format!("<button>{number}</button>")).collect();
    let (near, far) = ("width:4000px", "width:9000px;height:40000px");
    let page =
        format!("<!doctype html><title>Large</title><div style='{near}'>{buttons}</div><div style='{far}'></div>");
    let context = on(&world, &page).await;
    let whole = PictureSettings { whole_page: true, scale: 0.1, marks: true, ..PictureSettings::default() };
    let seen = picture(&context, whole).await;
    assert!(seen.width <= 410 && seen.height <= 1_639, "{} x {}", seen.width, seen.height);
    assert_eq!(seen.marks.len() + seen.marks_left_out, 600);
    assert!(seen.marks.len() <= 300, "{}", seen.marks.len());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closer_look_tells_text_and_document_and_takes_no_time() {
    let Some(world) = World::start().await else { return };
    let context = on(&world, PAGE).await;
    let before = context.now_ms();
    let look = async |call: &str| context.perform(&action::parse(call).expect("an action")).await.expect("a look");
    let text = look("page_text()").await.read.expect("a text");
    assert!(text.text.contains("Far down") && !text.text.contains("unseen"), "{}", text.text);
    let html = look("page_html()").await.read.expect("a document");
    assert!(html.text.starts_with("<!doctype html>\n<html>") && html.text.contains("unseen"), "{}", html.text);
    let shot = look("screenshot(marks=True, scale=0.5, format='webp')").await;
    assert!(shot.picture.is_some_and(|picture| picture.width == 640 && !picture.marks.is_empty()));
    assert_eq!(context.now_ms(), before);
    world.end().await;
}

/// Id of the element in whose line a text stands.
async fn id_of(context: &Context, text: &str) -> String {
    let seen = context.observe().await.expect("a view").text;
    let line = seen.lines().find(|line| line.contains(text)).expect("the line is there");
    let (_, rest) = line.split_once('[').expect("an id");
    rest.split(']').next().unwrap_or_default().to_owned()
}
