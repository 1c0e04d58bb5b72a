//! Repositories in real sandboxes: what is shipped, what cheats, what is broken.

mod place;

use palestra_workbench::repository::Repository;

#[tokio::test(flavor = "multi_thread")]
async fn every_shipped_instance_is_admitted() {
    let Some(place) = place::open("python") else { return };
    let repository = Repository::default();
    for (name, row) in place::shipped() {
        let start = std::time::Instant::now();
        let report = repository.examine(&row, &place.desk).await.expect("it could be tried");
        println!("{name}: {report} {:?}", start.elapsed());
        assert!(report.admitted(), "{name}: {report}");
    }
}
