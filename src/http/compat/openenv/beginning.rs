//! Beginning: which session a reset leads to.
//!
//! Every reset makes a session of its own. The id of one that has an `episode_id` follows from that id and a generation, so
//! that whoever comes back finds it, also after the server was started again: the newest generation is the one that counts,
//! and a new one is made when the one before is over.

use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::SessionId;
use palestra_protocol::problem::Code;
use palestra_protocol::session::{CreateSession, Created, Opened, Session, SessionState};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::conclusion::{Conclusion, conclude};
use super::observation::{Ending, Shown, seen};
use super::player::{Player, Playing, label_of, unexpected};
use super::refusal::Refusal;
use super::seats::{Claim, Kind, Place};
use palestra_session::{Answer, Command};

/// Generations that are tried before the caller is told to try again: others may be beginning the same episode.
const ATTEMPTS_MAX: u32 = 16;

/// The choice between going on with an episode and beginning another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// A new one begins.
    Never,
    /// If nobody plays it.
    IfFree,
    /// It must be there, and is taken from whoever plays it.
    Demanded,
}

/// An episode that can be played.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) playing: Playing,
    pub(super) shown: Shown,
}

/// The outcome of one generation.
enum Tried {
    Begun(Box<Begun>),
    /// It is over.
    Spent,
    /// Another connection plays it.
    Busy,
}

impl Player {
    /// Begins an episode, or goes on with one.
    pub(super) async fn begin(
        &self,
        arguments: &Arguments,
        kind: Kind,
        resume: Resume,
        spare: &mut Option<Place>,
    ) -> Result<Begun, Refusal> {
        let Some(label) = arguments.episode_id.as_deref() else {
            return self.begin_nameless(arguments, kind, spare).await;
        };
        let mut generation = if resume == Resume::Demanded { self.newest(label).await? } else { 0 };
        for _ in 0..ATTEMPTS_MAX {
            match self.try_generation(arguments, (label, generation), kind, resume, spare).await? {
                Tried::Begun(begun) => return Ok(*begun),
                Tried::Busy if kind == Kind::Socket => return self.begin_nameless(arguments, kind, spare).await,
                Tried::Busy => {
                    return Err(Refusal::Session("a socket plays the episode of this id".to_owned()));
                }
                Tried::Spent => generation = (generation + 1).max(self.newest(label).await?),
            }
        }
        Err(Refusal::Session("the episode of this id is begun by others: try again".to_owned()))
    }

    /// A session under an id that nobody else can come to.
    async fn begin_nameless(
        &self,
        arguments: &Arguments,
        kind: Kind,
        spare: &mut Option<Place>,
    ) -> Result<Begun, Refusal> {
        let id = SessionId::new();
        let over = self.hold(id, kind, false, spare).await?.ok_or_else(|| taken(id))?;
        match self.create(arguments.creation(&self.environment, id, by(kind))).await {
            Ok(opened) => {
                let label = arguments.episode_id.clone().unwrap_or_else(|| opened.episode.to_string());
                Ok(self.opened(&opened, label, over))
            }
            Err(refusal) => {
                *spare = self.seats.release(id, self.me);
                Err(refusal)
            }
        }
    }

    async fn try_generation(
        &self,
        arguments: &Arguments,
        (label, generation): (&str, u64),
        kind: Kind,
        resume: Resume,
        spare: &mut Option<Place>,
    ) -> Result<Tried, Refusal> {
        let id = self.id_of(label, generation);
        let Some(over) = self.hold(id, kind, resume == Resume::Demanded, spare).await? else { return Ok(Tried::Busy) };
        let tried = self.play_generation(arguments, id, label, kind, resume, over).await;
        if !matches!(tried, Ok(Tried::Begun(_))) {
            *spare = self.seats.release(id, self.me);
        }
        tried
    }

    /// Makes the session of a generation, or finds it: the same request again is answered with the session that it made.
    async fn play_generation(
        &self,
        arguments: &Arguments,
        id: SessionId,
        label: &str,
        kind: Kind,
        resume: Resume,
        over: CancellationToken,
    ) -> Result<Tried, Refusal> {
        if resume == Resume::Demanded && !self.exists(id).await? {
            return Err(Refusal::Session("there is no episode of this id to resume".to_owned()));
        }
        let created = match self.create(arguments.creation(&self.environment, id, by(kind))).await {
            Ok(opened) => Some(opened),
            // Made by another request: it has another task, seed or setting.
            Err(Refusal::Failed(failure)) if matches!(failure.code(), Code::KeyReused | Code::Conflict) => None,
            Err(refusal) => return Err(refusal),
        };
        let session = self.session(id).await?;
        let open = session.state == SessionState::Open;
        let untouched = created.as_ref().is_some_and(|opened| opened.episode == session.episode)
            && session.seq == Some(0)
            && session.limits_left.is_some();
        let wanted = resume == Resume::Demanded || (resume == Resume::IfFree && created.is_some());
        match created {
            Some(opened) if open && untouched => {
                Ok(Tried::Begun(Box::new(self.opened(&opened, label.to_owned(), over))))
            }
            opened if open && wanted => {
                let playing = Playing { session: id, episode: session.episode, label: label.to_owned(), over };
                let shown = self.where_it_stands(&playing, &session, opened.as_deref()).await;
                if matches!(shown, Err(Refusal::Unscored(_))) {
                    // That it has no score is told once; the next reset begins anew.
                    conclude(&self.app, &self.principal, id, Conclusion::Leave).await;
                }
                Ok(Tried::Begun(Box::new(Begun { playing, shown: shown? })))
            }
            _ if resume == Resume::Demanded => {
                Err(Refusal::Session("the episode of this id is over, so it cannot be resumed".to_owned()))
            }
            _ => {
                if open {
                    conclude(&self.app, &self.principal, id, Conclusion::Leave).await;
                }
                Ok(Tried::Spent)
            }
        }
    }

    /// The last observation of an episode that goes on or has just ended.
    async fn where_it_stands(
        &self,
        playing: &Playing,
        session: &Session,
        opened: Option<&Opened>,
    ) -> Result<Shown, Refusal> {
        let (sessions, tenant) = (self.app.sessions(), &self.principal.tenant);
        let refused = |error: palestra_session::SessionError| self.refusal(error.into());
        let episode = sessions.episode(tenant, session.episode).await.map_err(refused)?;
        let seq = session.seq.unwrap_or_default();
        let mut shown = if seq == 0 {
            let fields = match opened {
                Some(opened) => seen((*opened.observation).clone(), &opened.messages),
                None => {
                    let words = "nothing was done in this episode yet: reset it without `resume`";
                    return Err(Refusal::Session(words.to_owned()));
                }
            };
            Shown::going_on(fields, self.metadata(playing, 0))
        } else {
            let record = sessions.step_record(tenant, session.episode, seq).await.map_err(refused)?;
            self.show_step(playing, record.answer, None).await?
        };
        if !shown.done && episode.state == EpisodeState::Ended {
            // Ended between two steps, by a call from outside.
            let verdict = self.verdict(playing, episode.verdict).await?;
            shown.reward = verdict.score;
            let (terminated, truncated, stop_reason) = (episode.terminated, episode.truncated, episode.stop_reason);
            shown.end(&Ending { terminated, truncated, stop_reason, verdict });
        }
        shown.metadata.insert("resumed".to_owned(), json!(true));
        Ok(shown)
    }

    /// Takes the seat of a session; none where another connection plays it.
    pub(super) async fn hold(
        &self,
        id: SessionId,
        kind: Kind,
        force: bool,
        spare: &mut Option<Place>,
    ) -> Result<Option<CancellationToken>, Refusal> {
        match self.seats.claim(id, self.me, (&self.principal, kind), force, spare).await {
            Claim::Held(over) => Ok(Some(over)),
            Claim::Busy => Ok(None),
            Claim::Full(occupancy) => Err(Refusal::Full(occupancy)),
        }
    }

    async fn create(&self, request: CreateSession) -> Result<Box<Opened>, Refusal> {
        match self.run(Command::Create { request: Box::new(request), key: None }).await {
            Ok(Answer::Created(Created::One(opened))) => Ok(opened),
            Ok(other) => Err(unexpected(&other)),
            Err(Refusal::Failed(failure)) if failure.code() == Code::Internal => {
                Err(Refusal::Factory { environment: self.environment.clone(), failure })
            }
            Err(Refusal::Failed(failure)) if failure.code() == Code::Invalid => Err(Refusal::below(failure, &[])),
            Err(refusal) => Err(refusal),
        }
    }

    /// A new episode as it is shown.
    pub(super) fn opened(&self, opened: &Opened, label: String, over: CancellationToken) -> Begun {
        let playing = Playing { session: opened.id, episode: opened.episode, label, over };
        let mut metadata = self.metadata(&playing, 0);
        metadata.insert("environment".to_owned(), json!(opened.environment));
        metadata.insert("task".to_owned(), json!(opened.task.id));
        metadata.insert("seed".to_owned(), json!(opened.seed));
        let observation = seen((*opened.observation).clone(), &opened.messages);
        Begun { playing, shown: Shown::going_on(observation, metadata) }
    }

    /// The session that an `episode_id` means: the newest one, if there was any.
    pub(super) async fn session_of_label(&self, label: &str) -> Result<SessionId, Refusal> {
        let id = self.id_of(label, self.newest(label).await?);
        self.session(id).await.map(|session| session.id)
    }

    /// The newest generation of a label; 0 also where there is none. They have no gaps, so a few looks find it.
    async fn newest(&self, label: &str) -> Result<u64, Refusal> {
        let (mut low, mut high) = (0, 1);
        while self.exists(self.id_of(label, high)).await? {
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.exists(self.id_of(label, middle)).await? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    async fn exists(&self, id: SessionId) -> Result<bool, Refusal> {
        match self.session(id).await {
            Ok(_) => Ok(true),
            Err(Refusal::Failed(failure)) if failure.code() == Code::NotFound => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    fn id_of(&self, label: &str, generation: u64) -> SessionId {
        let words = ["openenv", &self.principal.tenant, self.plain_name(), label, &generation.to_string()];
        self.app.auth().id_of(&words).into()
    }

    /// A session that is there, for a socket that joins it.
    pub(super) async fn join(
        &self,
        id: SessionId,
        force: bool,
        spare: &mut Option<Place>,
    ) -> Result<(Playing, Kind), Refusal> {
        let unknown = || Refusal::Session(format!("Unknown session_id: {id}"));
        let session = match self.session(id).await {
            Err(Refusal::Failed(failure)) if failure.code() == Code::NotFound => return Err(unknown()),
            found => found?,
        };
        if session.state == SessionState::Closed {
            return Err(Refusal::Session(format!("the session {id} is closed")));
        }
        let kind = maker(&session);
        let over = self.hold(id, kind, force, spare).await?.ok_or_else(|| taken(id))?;
        let label = label_of(&session);
        Ok((Playing { session: id, episode: session.episode, label, over }, kind))
    }

    /// A session that is there, for one call over HTTP. It keeps its seat for a while, or gets one.
    pub(super) async fn attend(&self, session: &Session) -> Result<Playing, Refusal> {
        if self.seats.has(session.id) {
            self.seats.touch(session.id);
        } else if session.state == SessionState::Open
            && self.hold(session.id, maker(session), false, &mut None).await?.is_some()
        {
            self.seats.leave(session.id, self.me);
        }
        let (id, episode, label) = (session.id, session.episode, label_of(session));
        Ok(Playing { session: id, episode, label, over: CancellationToken::new() })
    }
}

fn taken(id: SessionId) -> Refusal {
    Refusal::Session(format!("Session {id} already has an attached WebSocket"))
}

/// The maker of a session: the mount leaves its mark on those that it makes.
fn maker(session: &Session) -> Kind {
    match session.metadata["openenv"]["by"].as_str() {
        Some("socket") => Kind::Socket,
        Some(_) => Kind::Kept,
        None => Kind::Guest,
    }
}

const fn by(kind: Kind) -> &'static str {
    match kind {
        Kind::Socket => "socket",
        Kind::Kept | Kind::Guest => "http",
    }
}
