//! Shortest ways by road.

use super::Map;

/// The shortest way from one place to another: its kilometres, and the places whose roads one has to know to be sure, which are those
/// nearer to the beginning than its end is.
pub(super) fn shortest(map: &Map, from: usize, to: usize) -> Option<(i64, Vec<usize>)> {
    let mut reached: Vec<Option<i64>> = vec![None; map.places.len()];
    reached[from] = Some(0);
    let mut settled: Vec<usize> = Vec::new();
    loop {
        let open = (0..map.places.len()).filter(|place| !settled.contains(place));
        let (length, place) = open.filter_map(|place| Some((reached[place]?, place))).min()?;
        if place == to {
            return Some((length, settled));
        }
        settled.push(place);
        for road in map.roads_of(place) {
            let next = road.beyond(place);
            let sum = length + road.length;
            reached[next] = Some(reached[next].map_or(sum, |known| known.min(sum)));
        }
    }
}
