//! A policy that answers: requests come over a connection that this side opened, and are answered together.

use std::time::{Duration, Instant};

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use palestra_protocol::job::{JobError, Progress};
use palestra_protocol::spec::Serve;
use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::spec::train::ToolFormat;
use palestra_protocol::worker::{ActAnswer, ActRequest, ServedAnswer, ServedRequest};
use serde_json::{Value, json};

use crate::chat::{ChatFormat, action};
use crate::failure::TrainerError;
use crate::files::Files;
use crate::model::{Mlp, Transformer};
use crate::policy_manifest::PolicyManifest;
use crate::reporter::Reporter;
use crate::rollout::stream;
use crate::sampling::{SampleRequest, Sampler, Slot, Stopped};
use crate::train::start;

/// Time that an exchange waits for a request, in milliseconds.
const WAIT_MS: u64 = 10_000;
/// The same where the job ends by itself, so that it soon hears of others that wait for this trainer.
const WAIT_MS_OF_IDLE: u64 = 1_000;
/// Time without a request after which such a job makes room for another one.
const ROOM_AFTER: Duration = Duration::from_secs(2);
/// Most tokens of an answer where the request says nothing.
const TOKENS_DEFAULT: u32 = 512;
/// Longest conversation, in tokens, answer included; the model's own bound where that is less.
const CONTEXT_TOKENS_MAX: usize = 8_192;

/// A policy that is loaded.
enum Served {
    Language { sampler: Box<Sampler<Transformer>>, chat: ChatFormat, habits: PolicyManifest },
    Vectors { model: Box<Mlp>, habits: PolicyManifest },
}

/// Answers for a policy until the job is cancelled, or nobody asked for long enough.
///
/// # Errors
/// When the policy cannot be loaded, or the lease is lost.
pub(super) fn serve(spec: &Serve, device: &Device, files: &Files, reporter: &Reporter) -> Result<Value, TrainerError> {
    let located = files.policy(&PolicyFrom::Registered(spec.policy))?;
    let mut habits = PolicyManifest::load(&located.path)?;
    habits.tool_format = spec.tool_format.unwrap_or(habits.tool_format);
    let mut served = if Mlp::is_folder(&located.path) {
        Served::Vectors { model: Box::new(Mlp::load_folder(&located.path, device)?), habits }
    } else {
        let (model, tokenizer) = start::load(&located.path, device)?;
        let chat = ChatFormat::new(&tokenizer)?;
        let context = model.config().positions_max.min(CONTEXT_TOKENS_MAX);
        Served::Language { sampler: Box::new(Sampler::new(model, spec.batch_max as usize, context, 0)), chat, habits }
    };
    let (mut answers, mut answered, mut idle) = (Vec::new(), 0_u64, Instant::now());
    reporter.set_progress(standing(spec));
    let wait_ms = if spec.idle_ms.is_some() { WAIT_MS_OF_IDLE } else { WAIT_MS };
    loop {
        reporter.go_on()?;
        let exchanged = reporter.exchange(std::mem::take(&mut answers), spec.batch_max, wait_ms)?;
        if exchanged.requests.is_empty() {
            let most = |most: u64| {
                if exchanged.wanted { ROOM_AFTER.min(Duration::from_millis(most)) } else { Duration::from_millis(most) }
            };
            let bored = spec.idle_ms.is_some_and(|idle_ms| idle.elapsed() > most(idle_ms));
            if bored {
                return Ok(json!({"answered": answered}));
            }
            continue;
        }
        idle = Instant::now();
        answered += exchanged.requests.len() as u64;
        answers = served.answer(&exchanged.requests, device)?;
    }
}

/// The words of the job for people: how long it keeps the trainer.
fn standing(spec: &Serve) -> Progress {
    let message = match spec.idle_ms {
        Some(idle_ms) => format!("answers; ends {} s after the last request", idle_ms as f64 / 1_000.0),
        None => "answers until it is cancelled, and keeps the trainer from other serve jobs: set idle_ms to end it"
            .to_owned(),
    };
    Progress { done: 1, total: 1, unit: "policies".to_owned(), message: Some(message), remaining_ms: None }
}

impl Served {
    fn answer(&mut self, requests: &[ServedRequest], device: &Device) -> Result<Vec<ServedAnswer>, TrainerError> {
        match self {
            Self::Language { sampler, chat, habits } => answer_language(sampler, chat, habits, requests),
            Self::Vectors { model, habits } => {
                requests.iter().map(|request| answer_vector(model, habits, request, device)).collect()
            }
        }
    }
}

/// Refuses a request for what its caller wrote.
fn refused(number: u64, detail: impl Into<String>) -> ServedAnswer {
    failed(number, "bad_request", detail)
}

fn failed(number: u64, code: &str, detail: impl Into<String>) -> ServedAnswer {
    let error = JobError { code: code.to_owned(), detail: detail.into() };
    ServedAnswer { number, answer: None, error: Some(error) }
}

/// The form of actions that a request asks for, or else the policy's.
fn format(habits: &PolicyManifest, asked: &ActRequest) -> ToolFormat {
    asked.tool_format.unwrap_or(habits.tool_format)
}

/// A request that has a slot.
struct Seated<'a> {
    request: &'a ServedRequest,
    slot: Slot,
    prompt: Vec<u32>,
}

fn answer_language(
    sampler: &mut Sampler<Transformer>,
    chat: &ChatFormat,
    habits: &PolicyManifest,
    requests: &[ServedRequest],
) -> Result<Vec<ServedAnswer>, TrainerError> {
    let mut answers = Vec::new();
    let mut seated = Vec::new();
    for request in requests {
        let asked = &request.request;
        if asked.messages.is_empty() {
            answers.push(refused(
                request.number,
                "this policy is a language model and reads `messages`, of which there are none: send a conversation",
            ));
            continue;
        }
        let key = asked.seed.unwrap_or_else(rand::random);
        let tools = format(habits, asked).shown(&asked.tools);
        match (chat.prompt(&asked.messages, tools), sampler.open(key)) {
            (Ok(prompt), Some(slot)) => {
                let (long, most) = (prompt.len(), sampler.room(slot)?);
                if long < most {
                    seated.push(Seated { request, slot, prompt });
                    continue;
                }
                sampler.close(slot);
                let detail =
                    format!("the conversation has {long} tokens, and this policy reads less than {most}: shorten it");
                answers.push(refused(request.number, detail));
            }
            (Err(error), slot) => {
                slot.into_iter().for_each(|slot| sampler.close(slot));
                answers.push(refused(request.number, error.to_string()));
            }
            (Ok(_), None) => answers.push(failed(request.number, "internal", "more requests than fit at once")),
        }
    }
    let asks: Vec<SampleRequest<'_>> = seated
        .iter()
        .map(|seated| SampleRequest {
            slot: seated.slot,
            tokens: &seated.prompt,
            max_tokens: seated.request.request.max_tokens.unwrap_or(TOKENS_DEFAULT) as usize,
            temperature: f64::from(seated.request.request.temperature.unwrap_or(1.0)),
            top_p: 1.0,
            stops: chat.stops(),
        })
        .collect();
    let said = if asks.is_empty() { Vec::new() } else { sampler.answer(&asks)? };
    for (seated, said) in seated.into_iter().zip(said) {
        sampler.close(seated.slot);
        let ended = said.stopped == Stopped::Stop;
        if said.tokens.is_empty() {
            answers.push(failed(seated.request.number, "internal", "nothing was sampled"));
            continue;
        }
        let text = chat.tokenizer().decode(&said.tokens[..said.tokens.len() - usize::from(ended)]);
        let asked = &seated.request.request;
        let answer = ActAnswer {
            action: action(&text, format(habits, asked), &asked.tools),
            token_ids: said.tokens,
            logprobs: said.log_probs,
            prompt_tokens: seated.prompt.len() as u64,
            prompt_token_ids: seated.prompt,
            finish_reason: if ended { "stop" } else { "length" }.to_owned(),
        };
        answers.push(ServedAnswer { number: seated.request.number, answer: Some(answer), error: None });
    }
    Ok(answers)
}

fn answer_vector(
    model: &Mlp,
    habits: &PolicyManifest,
    request: &ServedRequest,
    device: &Device,
) -> Result<ServedAnswer, TrainerError> {
    let ActRequest { observation, temperature, seed, .. } = &request.request;
    let inputs = model.config().inputs;
    let Some(vector) = observation.as_ref().filter(|vector| vector.len() == inputs) else {
        return Ok(refused(
            request.number,
            format!("this policy acts on `observation` alone, of exactly {inputs} numbers: send those"),
        ));
    };
    let shown = Tensor::<2>::from_data(TensorData::new(vector.clone(), [1, inputs]), device);
    let logs: Vec<f32> = log_softmax(model.policy(shown), 1)
        .into_data()
        .try_to_vec()
        .map_err(|error| TrainerError::Internal(format!("{error:?}")))?;
    let temperature = f64::from(temperature.unwrap_or(1.0));
    let mut random = stream(seed.unwrap_or_else(rand::random), "act", &[]);
    let chosen = crate::sampling::choose(&logs, temperature, 1.0, &mut random)?;
    let answer = ActAnswer {
        action: match habits.actions.get(chosen.token as usize) {
            Some(text) => json!({"text": text}),
            None => {
                return Ok(failed(
                    request.number,
                    "bad_checkpoint",
                    "this policy does not know what its actions are called",
                ));
            }
        },
        token_ids: vec![chosen.token],
        logprobs: vec![chosen.log_prob],
        prompt_tokens: 0,
        prompt_token_ids: Vec::new(),
        finish_reason: "stop".to_owned(),
    };
    Ok(ServedAnswer { number: request.number, answer: Some(answer), error: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TransformerConfig;
    use crate::tokenizer::testing::{SMOL_LIKE, weather, with_template};

    #[test]
    fn a_served_policy_is_shown_the_tools_that_it_was_trained_with() {
        let chat = ChatFormat::new(&with_template(SMOL_LIKE)).unwrap();
        let messages = vec![json!({"role": "user", "content": "hi"})];
        let request = ActRequest {
            messages: messages.clone(),
            tools: vec![weather()],
            observation: None,
            max_tokens: Some(1),
            temperature: None,
            seed: Some(1),
            tool_format: None,
        };
        let requests = [ServedRequest { number: 1, request }];
        for (tool_format, shown) in
            [(ToolFormat::Auto, vec![weather()]), (ToolFormat::Json, vec![weather()]), (ToolFormat::Text, Vec::new())]
        {
            let config = TransformerConfig::tiny(chat.tokenizer().vocab_size(), None, 512);
            let mut sampler = Sampler::new(Transformer::init(&config, 1, &Device::flex()).unwrap(), 1, 512, 0);
            let habits = PolicyManifest { tool_format, actions: Vec::new() };
            let answers = answer_language(&mut sampler, &chat, &habits, &requests).unwrap();
            let read = answers[0].answer.as_ref().expect("an answer").prompt_tokens;
            assert_eq!(read, chat.prompt(&messages, &shown).unwrap().len() as u64, "{tool_format:?}");
            // What a request asks for counts more.
            let mut asked = requests[0].clone();
            asked.request.tool_format = Some(ToolFormat::Text);
            let answers = answer_language(&mut sampler, &chat, &habits, &[asked]).unwrap();
            let read = answers[0].answer.as_ref().expect("an answer").prompt_tokens;
            assert_eq!(read, chat.prompt(&messages, &[]).unwrap().len() as u64, "{tool_format:?}");
        }
    }

    fn request(messages: Vec<Value>, observation: Option<Vec<f32>>) -> ServedRequest {
        let request = ActRequest {
            messages,
            tools: Vec::new(),
            observation,
            max_tokens: Some(1),
            temperature: None,
            seed: Some(1),
            tool_format: None,
        };
        ServedRequest { number: 1, request }
    }

    /// Code and words of a refusal.
    fn refusal(answers: &[ServedAnswer]) -> (String, String) {
        assert!(answers[0].answer.is_none(), "{answers:?}");
        let error = answers[0].error.clone().unwrap();
        (error.code, error.detail)
    }

    #[test]
    fn what_the_caller_wrote_wrongly_is_told_from_what_fails() {
        let chat = ChatFormat::new(&with_template(SMOL_LIKE)).unwrap();
        let config = TransformerConfig::tiny(chat.tokenizer().vocab_size(), None, 32);
        let mut sampler = Sampler::new(Transformer::init(&config, 1, &Device::flex()).unwrap(), 1, 32, 0);
        let habits = PolicyManifest::default();
        let long = json!({"role": "user", "content": "word ".repeat(100)});
        for (messages, part) in [(vec![long], "reads less than 32"), (Vec::new(), "reads `messages`")] {
            let answers = answer_language(&mut sampler, &chat, &habits, &[request(messages, None)]).unwrap();
            let (code, detail) = refusal(&answers);
            assert!(code == "bad_request" && detail.contains(part), "{code}: {detail}");
            assert_eq!(sampler.free_slots(), 1);
        }
        let device = Device::flex();
        let model = Mlp::init(crate::model::MlpConfig { inputs: 4, outputs: 2, hidden: 4 }, 1, &device).unwrap();
        let answer = answer_vector(&model, &habits, &request(Vec::new(), Some(vec![0.0; 3])), &device).unwrap();
        let (code, detail) = refusal(&[answer]);
        assert!(code == "bad_request" && detail.contains("exactly 4 numbers"), "{code}: {detail}");
    }

    #[test]
    fn a_job_says_how_long_it_keeps_its_trainer() {
        let told = |idle_ms| {
            let serve =
                Serve { policy: palestra_protocol::id::PolicyId::new(), batch_max: 1, idle_ms, tool_format: None };
            standing(&serve).message.unwrap()
        };
        assert!(told(None).contains("until it is cancelled"));
        assert!(told(Some(1_500)).contains("ends 1.5 s after the last request"));
    }
}
