//! The methods: who one speaks with, which tools there are, and what is to be done.

use palestra_protocol::observation::Message;
use rmcp::ErrorData;
use rmcp::model::{
    DiscoverResult, EmptyResult, ErrorCode, GetPromptRequestParams, GetPromptResult, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptMessage, PromptsCapability, ProtocolVersion, Role, ServerCapabilities, ServerResult, Tool,
    ToolsCapability,
};

use super::super::super::problem::{Failure, internal};
use super::super::json_rpc::told_back;
use super::super::played;
use super::call::call_tool;
use super::generation::Generation;
use super::message::{Request, params};
use super::seat::Seat;
use palestra_environment::tool::to_mcp;

/// The prompt that holds the session's task.
const TASK: &str = "task";

/// The answer of a request: a failure where the server cannot answer, an error where the request is wrong.
type Outcome = Result<Result<ServerResult, ErrorData>, Failure>;

/// Answers a request.
pub(super) async fn answer(seat: &Seat<'_>, generation: Generation, request: Request) -> Outcome {
    let Request { method, params, .. } = request;
    match (method.as_str(), generation) {
        ("initialize", Generation::Handshake) => initialize(seat, params).await,
        ("ping", Generation::Handshake) => Ok(Ok(ServerResult::EmptyResult(EmptyResult {}))),
        ("server/discover", Generation::Stateless) => discover(seat).await,
        ("tools/list", _) => list_tools(seat, params).await,
        ("tools/call", _) => call_tool(seat, params).await,
        ("prompts/list", _) => list_prompts(seat, params).await,
        ("prompts/get", _) => get_prompt(seat, params).await,
        (other, _) => {
            let words = format!("Method not found: {}", told_back(other));
            Ok(Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None)))
        }
    }
}

/// Agrees on a revision: the client's where it is known, the newest that begins like this otherwise.
async fn initialize(seat: &Seat<'_>, given: JsonObject) -> Outcome {
    let asked = match params::<InitializeRequestParams>(given) {
        Ok(asked) => asked.protocol_version,
        Err(error) => return Ok(Err(error)),
    };
    let known = ProtocolVersion::KNOWN_VERSIONS.contains(&asked) && asked.has_initialize();
    let agreed = if known { asked } else { ProtocolVersion::LATEST_WITH_INITIALIZE };
    let result = introduction(seat).await?.with_protocol_version(agreed);
    Ok(Ok(ServerResult::InitializeResult(result)))
}

async fn discover(seat: &Seat<'_>) -> Outcome {
    let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
    let result = DiscoverResult::from_server_info(versions, introduction(seat).await?);
    Ok(Ok(ServerResult::DiscoverResult(result)))
}

/// Information on the server, with the session's task as instructions.
async fn introduction(seat: &Seat<'_>) -> Result<InitializeResult, Failure> {
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ToolsCapability::default());
    capabilities.prompts = Some(PromptsCapability::default());
    let server = Implementation::new("palestra", env!("CARGO_PKG_VERSION"));
    let about = InitializeResult::new(capabilities).with_server_info(server);
    let messages = messages(seat).await?;
    let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
    Ok(if texts.is_empty() { about } else { about.with_instructions(texts.join("\n\n")) })
}

/// The instructions for a policy.
async fn messages(seat: &Seat<'_>) -> Result<Vec<Message>, Failure> {
    let task = played::task(seat.app, &seat.principal.tenant, seat.session).await?;
    Ok(task.public.messages.clone())
}

async fn list_tools(seat: &Seat<'_>, given: JsonObject) -> Outcome {
    if let Err(error) = only_page(given) {
        return Ok(Err(error));
    }
    let tools = played::tools(seat.app, &seat.principal.tenant, seat.session).await?;
    let tools: Result<Vec<Tool>, _> = tools.iter().map(|tool| serde_json::from_value(to_mcp(tool))).collect();
    let tools = tools.map_err(|error| internal(&error))?;
    Ok(Ok(ServerResult::ListToolsResult(ListToolsResult::with_all_items(tools))))
}

async fn list_prompts(seat: &Seat<'_>, given: JsonObject) -> Outcome {
    if let Err(error) = only_page(given) {
        return Ok(Err(error));
    }
    let prompt = Prompt::new(TASK, Some("What is to be done in this session."), None);
    let prompts = if messages(seat).await?.is_empty() { Vec::new() } else { vec![prompt] };
    Ok(Ok(ServerResult::ListPromptsResult(ListPromptsResult::with_all_items(prompts))))
}

async fn get_prompt(seat: &Seat<'_>, given: JsonObject) -> Outcome {
    let name = match params::<GetPromptRequestParams>(given) {
        Ok(asked) => asked.name,
        Err(error) => return Ok(Err(error)),
    };
    let messages = messages(seat).await?;
    if name != TASK || messages.is_empty() {
        let words = format!("Invalid params: there is no prompt {:?}", told_back(&name));
        return Ok(Err(ErrorData::invalid_params(words, None)));
    }
    let messages = messages.into_iter().map(|Message { role, content, .. }| {
        let role = if role == "assistant" { Role::Assistant } else { Role::User };
        PromptMessage::new_text(role, content)
    });
    Ok(Ok(ServerResult::GetPromptResult(GetPromptResult::new(messages.collect()))))
}

/// Everything stands on one page, so no cursor leads to another one.
fn only_page(given: JsonObject) -> Result<(), ErrorData> {
    match params::<PaginatedRequestParams>(given)?.cursor {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("Invalid params: no page has this cursor", None)),
    }
}
