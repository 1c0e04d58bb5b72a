//! Answers from the pages of an encyclopaedia.

use super::{Reader, asked, best, number};

pub(super) fn answer(read: &Reader, question: &str) -> Option<String> {
    if let Some([name]) = asked("What is the population of the capital of {}?", question) {
        return read.value(&read.value(name, "Capital")?, "Population");
    }
    if let Some([name]) = asked("What is the population of {}?", question) {
        return read.value(name, "Population");
    }
    if let Some([name]) = asked("In which year was {} founded?", question) {
        return read.value(name, "Founded");
    }
    if let Some([region]) =
        asked("How long is the river on which the oldest place of {} lies, in kilometres?", question)
    {
        return read.value(&read.value(&oldest(read, region)?, "River")?, "Length");
    }
    if let Some([name]) = asked("How long is the river {}, in kilometres?", question) {
        return read.value(name, "Length");
    }
    if let Some([name]) = asked("How many places lie on the river {}?", question) {
        let listed = read.items("/rivers/", name, "Places on the river");
        let each =
            || read.pages.iter().filter(|page| read.stated("/places/", &page.title, "River").as_deref() == Some(name));
        return Some(listed.map_or_else(|| each().count(), |places| places.len()).to_string());
    }
    if let Some([region]) =
        asked("At which elevation does the place of {} that was founded first lie, in metres?", question)
    {
        return read.stated("/places/", &oldest(read, region)?, "Elevation");
    }
    if let Some([name]) = asked("At which elevation does {} lie, in metres?", question) {
        return read.stated("/places/", name, "Elevation");
    }
    if let Some([name]) = asked("Which place on the river {} has the most inhabitants?", question) {
        let places = read.items("/rivers/", name, "Places on the river")?;
        return best(&places, |place| Some(number(&read.value(place, "Population")?)));
    }
    if let Some(names) = asked::<3>("Which of {}, {} and {} was founded first?", question) {
        return first_founded(read, &names.map(str::to_owned));
    }
    let capital = "What is the capital of the region in which the longest river that flows into the {} rises?";
    if let Some([name]) = asked(capital, question) {
        let listed = read.items("/rivers/", name, "Tributaries");
        let rows = read
            .pages
            .iter()
            .flat_map(|page| &page.rows)
            .filter(|row| row.get("Flows into").map(String::as_str) == Some(name));
        let rivers = listed.unwrap_or_else(|| rows.map(|row| row["River"].clone()).collect());
        let longest = best(&rivers, |river| Some(number(&read.value(river, "Length")?)))?;
        return read.value(&read.value(&longest, "Rises in")?, "Capital");
    }
    let [region, people, year] =
        asked("How many places in {} have more than {} inhabitants and were founded before {}?", question)?;
    let places = read.column("/regions/", region, "Place")?;
    let fits = |place: &String| {
        let population = number(&read.value(place, "Population")?);
        Some(population > number(people) && number(&read.value(place, "Founded")?) < number(year))
    };
    let fitting: Vec<bool> = places.iter().map(fits).collect::<Option<_>>()?;
    Some(fitting.iter().filter(|fits| **fits).count().to_string())
}

fn first_founded(read: &Reader, places: &[String]) -> Option<String> {
    best(places, |place| Some(-number(&read.value(place, "Founded")?)))
}

fn oldest(read: &Reader, region: &str) -> Option<String> {
    first_founded(read, &read.column("/regions/", region, "Place")?)
}
