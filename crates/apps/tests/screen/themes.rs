//! Themes: what their files may say, and what they may not do.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::fault::Faults;
use palestra_apps::html::{CheckLine, Ended, Frame, Score, TaskBar, faulty_pages, page};
use palestra_apps::screen::Viewer;

use crate::fixture::{SCREENS, TOOLSHED, begin};

fn load(files: &[(&str, &str)]) -> Result<Arc<App>, Faults> {
    let mut all = BTreeMap::from([("app.yaml".to_owned(), format!("{TOOLSHED}{SCREENS}"))]);
    all.extend(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    App::load(&all)
}

fn shown(app: &Arc<App>, frame: &Frame<'_>) -> String {
    page(&Viewer::new(), &begin(app, 0), frame).expect("no fault of the definition")
}

#[test]
fn faults_of_a_theme_are_told_with_file_and_line() {
    let long = "x".repeat(600 << 10);
    for (name, text, place, message) in [
        ("theme/theme.yaml", "title: A\nnav: [{screen: tolls}]", "theme/theme.yaml:2", "did you mean `tools`?"),
        ("theme/theme.yaml", "nav: [{screen: tool}]", "theme/theme.yaml:1", "takes arguments"),
        ("theme/theme.yaml", "colour: \"#ffee00\"", "theme/theme.yaml:1", "contrast"),
        (
            "theme/theme.yaml",
            "lists: {tools: {title: nam}}",
            "theme/theme.yaml:1",
            "there is no value of this view `nam`",
        ),
        ("theme/theme.yaml", "lists: {tolls: {}}", "theme/theme.yaml:1", "there is no view `tolls`"),
        ("theme/theme.yaml", "icon: spaceship", "theme/theme.yaml:1", "there is no icon"),
        ("theme/theme.yaml", "fonts: x", "theme/theme.yaml:1", "fonts"),
        ("theme/tools.html", "<p>\n{{ nothing }}", "theme/tools.html:2", "there is no variable `nothing`"),
        ("theme/tools.html", "{{ screen.tilte }}", "theme/tools.html:1", "did you mean `title`"),
        ("theme/tools.html", "{{ screen.lists.tolls }}", "theme/tools.html:1", "there is no view `tolls`"),
        ("theme/tools.html", "\n\n{% if %}", "theme/tools.html:3", "syntax error"),
        ("theme/tolls.html", "x", "theme/tolls.html:1", "no screen is called `tolls`"),
        ("theme/a.png", "x", "theme/a.png:1", "a file of a theme"),
        ("theme/app.css", &long, "theme/:1", "at most"),
    ] {
        let faults = load(&[(name, text)]).expect_err(text);
        let found = faults.iter().find(|fault| fault.to_string().starts_with(place));
        let found = found.unwrap_or_else(|| panic!("{name}: {faults:?}"));
        assert!(found.message.contains(message), "{text}: {found}");
    }
}

#[test]
fn a_template_of_a_screen_shows_what_stands_on_it_as_text() {
    let template = "{% extends \"screen.html\" %}{% block body %}{% autoescape false %}<ol>\
                    {% for r in screen.lists.tools.list.rows %}<li>{{ r.name }}{{ \"<b>\" }}</li>{% endfor %}</ol>{% endautoescape %}{% endblock %}";

    let app = load(&[("theme/tools.html", template), ("theme/app.js", "1;"), ("theme/app.css", "ol{color:red}")]);
    let app = app.unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_eq!(faulty_pages(&app), Vec::<String>::new());
    let page = shown(&app, &Frame { base: "/x", ..Frame::default() });
    assert!(page.contains("<ol><li>") && page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    assert!(page.contains("src=\"/x/theme/app.js\""), "{page}");
    assert!(app.theme.asset("app.css").is_some_and(|asset| asset.text.contains("ol{color:red}")));
}

#[test]
fn a_template_that_runs_or_writes_without_end_is_stopped_and_the_screen_shown_all_the_same() {
    for body in [
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) %}{{ \"x\" * 9999 }}{% endfor %}",
        "{{ screen.title | safe }}",
    ] {
        let template = format!("{{% extends \"screen.html\" %}}{{% block body %}}{body}{{% endblock %}}");
        let app = load(&[("theme/tools.html", &template)]).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert!(!faulty_pages(&app).is_empty(), "{body}");
        assert!(shown(&app, &Frame::default()).contains("<h1>"), "{body}");
    }
}

#[test]
fn the_task_and_its_end_stand_on_the_page_for_who_may_see_them() {
    let app = load(&[]).unwrap_or_else(|faults| panic!("{faults:?}"));
    let plain = shown(&app, &Frame::default());
    assert!(!plain.contains("End the task"));
    let task = Some(TaskBar { text: "Lend <it>.", answers: vec!["paid_days"] });
    let page = shown(&app, &Frame { task: task.clone(), ..Frame::default() });
    assert!(
        page.contains("Lend &lt;it&gt;.") && page.contains("end:answer:paid_days") && page.contains("Paid days"),
        "{page}"
    );
    let over = shown(&app, &Frame { task: task.clone(), over: Some(Ended::default()), ..Frame::default() });
    assert!(over.contains("episode is over") && !over.contains("Score") && !over.contains("End the task"), "{over}");
    let checks = vec![CheckLine { name: "lent".to_owned(), passed: false, evidence: "no loan".to_owned() }];
    let judged = |score, status: &str| {
        let verdict = Some(Score { score, status: status.to_owned(), checks: checks.clone() });
        shown(&app, &Frame { task: task.clone(), over: Some(Ended { verdict }), ..Frame::default() })
    };
    let scored = judged(Some(0.5), "scored");
    assert!(scored.contains("0.5") && scored.contains("no loan") && !scored.contains("Not scored"), "{scored}");
    let unscored = judged(None, "infra_error");
    assert!(
        unscored.contains("Not scored") && unscored.contains("infra error") && !unscored.contains("Score:"),
        "{unscored}"
    );
}
