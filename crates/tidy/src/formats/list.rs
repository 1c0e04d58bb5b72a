//! The formats: each section of a guide that has a table of fields, with the types that read or write the format.

/// A section of a guide, and the types whose fields its tables have.
pub(super) struct Section {
    pub(super) page: &'static str,
    pub(super) heading: &'static str,
    /// What stands before the name of a field, the file, and the type in it.
    pub(super) types: &'static [(&'static str, &'static str, &'static str)],
}

/// Types that are read in another form, which has a table.
pub(super) const TOLD_OTHERWISE: &[&str] = &["Assert"];

/// Every table of fields.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        page: "docs/jobs.md",
        heading: "Fields of a job",
        types: &[
            ("", "crates/protocol/src/job.rs", "CreateJob"),
            ("resources.", "crates/protocol/src/job.rs", "Resources"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of an evaluation",
        types: &[
            ("", "crates/protocol/src/spec/evaluate.rs", "Evaluate"),
            ("policy.", "crates/protocol/src/spec/play.rs", "PlayedPolicy"),
            ("baseline.", "crates/protocol/src/spec/evaluate.rs", "Baseline"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of an environment",
        types: &[("", "crates/protocol/src/spec/play.rs", "EnvironmentMix")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of sampling and limits",
        types: &[
            ("sampling.", "crates/protocol/src/spec/play.rs", "Sampling"),
            ("limits.", "crates/protocol/src/spec/play.rs", "PlayLimits"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of a collection",
        types: &[("", "crates/protocol/src/spec/collect.rs", "Collect")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of a rescoring",
        types: &[("", "crates/protocol/src/spec/rescore.rs", "Rescore")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of a check",
        types: &[("", "crates/protocol/src/spec/check.rs", "Check")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Fields of a serving",
        types: &[("", "crates/protocol/src/spec/serve.rs", "Serve")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "The report of an evaluation",
        types: &[
            ("", "crates/worker/src/report.rs", "Report"),
            ("usage.", "crates/worker/src/report.rs", "Usage"),
            ("baseline.", "crates/worker/src/report.rs", "BaselineComparison"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Numbers of episodes",
        types: &[
            ("", "crates/worker/src/stats/summary.rs", "Summary"),
            ("mean.", "crates/worker/src/stats/clustered.rs", "Estimate"),
            ("strict.", "crates/worker/src/stats/summary.rs", "Rate"),
            ("pass_at[].", "crates/worker/src/stats/pass_at.rs", "PassAt"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Numbers of a comparison",
        types: &[
            ("", "crates/worker/src/stats/paired.rs", "Comparison"),
            ("unscored.", "crates/worker/src/stats/paired.rs", "Unscored"),
            ("difference.", "crates/worker/src/stats/clustered.rs", "Estimate"),
            ("pass_to_fail.", "crates/worker/src/stats/paired.rs", "Flips"),
            ("fail_to_pass.", "crates/worker/src/stats/paired.rs", "Flips"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Lines of episodes of an evaluation",
        types: &[("", "crates/worker/src/lines.rs", "EpisodeLine")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "The line of a run",
        types: &[
            ("", "src/command/tally.rs", "Line"),
            ("not_scored.REASON.", "src/command/tally.rs", "Counted"),
            ("not_trainable.", "src/command/tally.rs", "Counted"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "The result of a collection",
        types: &[("", "crates/worker/src/kinds/collect.rs", "Collected")],
    },
    Section {
        page: "docs/jobs.md",
        heading: "The result of a rescoring",
        types: &[
            ("", "crates/worker/src/kinds/rescore.rs", "Counts"),
            ("old.", "crates/worker/src/kinds/rescore.rs", "Judged"),
            ("new.", "crates/worker/src/kinds/rescore.rs", "Judged"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "The answer about a job",
        types: &[
            ("", "crates/protocol/src/job.rs", "Job"),
            ("progress.", "crates/protocol/src/job.rs", "Progress"),
            ("error.", "crates/protocol/src/job.rs", "JobError"),
        ],
    },
    Section {
        page: "docs/jobs.md",
        heading: "Events of a job",
        types: &[
            ("", "crates/protocol/src/job_event.rs", "TypedJobEvent"),
            ("", "crates/protocol/src/job_event.rs", "JobHappening"),
            ("data.state.", "crates/protocol/src/job_event.rs", "StateChange"),
            ("data.progress.", "crates/protocol/src/job.rs", "Progress"),
            ("data.metric.", "crates/protocol/src/job_event.rs", "StepNumbers"),
            ("data.log.", "crates/protocol/src/job_event.rs", "LogLine"),
            ("data.artifact.", "crates/protocol/src/job.rs", "Artifact"),
            ("data.checkpoint.", "crates/protocol/src/job_event.rs", "KeptCheckpoint"),
            ("data.checkpoint.policy.", "crates/protocol/src/job.rs", "CheckpointPolicy"),
            ("data.policy.", "crates/protocol/src/job_event.rs", "KeptPolicy"),
        ],
    },
    Section {
        page: "docs/scripted-model.md",
        heading: "Fields of a script",
        types: &[("", "crates/scripted-model/src/script.rs", "WrittenScript")],
    },
    Section {
        page: "docs/scripted-model.md",
        heading: "Fields of a rule",
        types: &[("", "crates/scripted-model/src/script.rs", "WrittenRule")],
    },
    Section {
        page: "docs/scripted-model.md",
        heading: "Fields of a call",
        types: &[("", "crates/scripted-model/src/script.rs", "WrittenCall")],
    },
    Section {
        page: "docs/training.md",
        heading: "Fields of a training",
        types: &[
            ("", "crates/protocol/src/spec/train/mod.rs", "Train"),
            ("policy.", "crates/protocol/src/spec/train/policy.rs", "TrainedPolicy"),
            ("policy.lora.", "crates/protocol/src/spec/train/policy.rs", "Lora"),
            ("policy.size.", "crates/protocol/src/spec/train/policy.rs", "ModelSize"),
            ("data.", "crates/protocol/src/spec/train/data.rs", "Data"),
            ("validation.", "crates/protocol/src/spec/train/data.rs", "Validation"),
            ("evaluate.", "crates/protocol/src/spec/train/mod.rs", "EvaluateMeanwhile"),
            ("checkpoint.", "crates/protocol/src/spec/train/mod.rs", "CheckpointPlan"),
        ],
    },
    Section {
        page: "docs/training.md",
        heading: "Fields of the algorithm",
        types: &[
            ("algorithm.", "crates/protocol/src/spec/train/algorithm.rs", "Algorithm"),
            ("algorithm.clip.", "crates/protocol/src/spec/train/algorithm.rs", "Clip"),
            ("algorithm.kl.", "crates/protocol/src/spec/train/algorithm.rs", "Kl"),
            ("algorithm.advantage.", "crates/protocol/src/spec/train/advantage.rs", "Advantage"),
            ("algorithm.aggregation.", "crates/protocol/src/spec/train/advantage.rs", "Aggregation"),
            ("algorithm.auxiliary[].", "crates/protocol/src/spec/train/algorithm.rs", "Auxiliary"),
        ],
    },
    Section {
        page: "docs/training.md",
        heading: "Fields of rollout and reward",
        types: &[
            ("rollout.", "crates/protocol/src/spec/train/rollout.rs", "Rollout"),
            ("reward.", "crates/protocol/src/spec/train/rollout.rs", "Reward"),
        ],
    },
    Section {
        page: "docs/training.md",
        heading: "Fields of the optimizer",
        types: &[("optimizer.", "crates/protocol/src/spec/train/optimizer.rs", "Optimizer")],
    },
    Section {
        page: "docs/training.md",
        heading: "The manifest of a policy",
        types: &[("", "crates/trainer/src/policy_manifest.rs", "PolicyManifest")],
    },
    Section {
        page: "docs/training.md",
        heading: "Metrics",
        types: &[
            ("", "crates/trainer/src/train/playing.rs", "metrics"),
            ("", "crates/trainer/src/train/language.rs", "metrics"),
            ("", "crates/trainer/src/train/control.rs", "metrics"),
            ("", "crates/trainer/src/train/supervised.rs", "metrics"),
            ("", "crates/trainer/src/train/measure.rs", "metrics"),
        ],
    },
    Section {
        page: "docs/data-sets.md",
        heading: "Rows",
        types: &[
            ("", "crates/families/src/dataset/row.rs", "Row"),
            ("messages[].", "crates/families/src/dataset/row.rs", "RowMessage"),
        ],
    },
    Section {
        page: "docs/data-sets.md",
        heading: "The header",
        types: &[("", "crates/families/src/dataset/parse.rs", "Header")],
    },
    Section {
        page: "docs/data-sets.md",
        heading: "Parameters of a publication",
        types: &[("", "src/http/publishing.rs", "Heading")],
    },
    Section {
        page: "docs/data-sets.md",
        heading: "Options of verifiers",
        types: &[
            ("number.", "crates/environment/src/verifier/number.rs", "Number"),
            ("set.", "crates/environment/src/verifier/set.rs", "Set"),
            ("regex.", "crates/environment/src/verifier/regular.rs", "Options"),
            ("regex.answer.", "crates/environment/src/verifier/regular.rs", "Answer"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of a task",
        types: &[
            ("", "crates/workbench/src/terminal/inline.rs", "Inline"),
            ("setup.", "crates/workbench/src/terminal/inline.rs", "Setup"),
            ("judge.", "crates/workbench/src/terminal/inline.rs", "JudgePart"),
            ("setup.files[].", "crates/workbench/src/terminal/row.rs", "StoredFile"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of a check",
        types: &[
            ("", "crates/workbench/src/checks/form.rs", "CheckForm"),
            ("cases[].", "crates/workbench/src/checks/form.rs", "CaseForm"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of a text check",
        types: &[
            ("", "crates/workbench/src/checks/text.rs", "TextForm"),
            ("json.", "crates/workbench/src/checks/text.rs", "JsonForm"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of task.toml",
        types: &[
            ("", "crates/workbench/src/terminal/folder/config.rs", "Config"),
            ("verifier.", "crates/workbench/src/terminal/folder/config.rs", "Verifier"),
            ("agent.", "crates/workbench/src/terminal/folder/config.rs", "Agent"),
            ("environment.", "crates/workbench/src/terminal/folder/config.rs", "Environment"),
            ("solution.", "crates/workbench/src/terminal/folder/config.rs", "Solution"),
            ("artifacts[].", "crates/workbench/src/terminal/folder/config.rs", "Artifact"),
            ("verifier.collect[].", "crates/workbench/src/terminal/folder/config.rs", "Collect"),
            ("environment.healthcheck.", "crates/workbench/src/terminal/folder/config.rs", "Healthcheck"),
            ("environment.network.", "crates/workbench/src/terminal/folder/config.rs", "NetworkTable"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Folders with task.yaml",
        types: &[("", "crates/workbench/src/terminal/folder/legacy.rs", "Task")],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of an image",
        types: &[
            ("", "crates/sandbox/src/image/definition.rs", "Definition"),
            ("packages[].", "crates/sandbox/src/image/definition.rs", "Packages"),
        ],
    },
    Section {
        page: "docs/terminals.md",
        heading: "Fields of aliases",
        types: &[
            ("", "crates/sandbox/src/image/alias.rs", "Aliases"),
            ("alias[].", "crates/sandbox/src/image/alias.rs", "Alias"),
        ],
    },
    Section {
        page: "docs/security.md",
        heading: "Fields of a profile",
        types: &[
            ("", "crates/sandbox/src/profile.rs", "Profile"),
            ("*.", "crates/sandbox/src/profile.rs", "Line"),
            ("user.value.", "crates/sandbox-agent/src/wire.rs", "User"),
        ],
    },
    Section {
        page: "docs/code.md",
        heading: "Rows",
        types: &[
            ("", "crates/workbench/src/code/row.rs", "Problem"),
            ("tests[].", "crates/workbench/src/code/row.rs", "Test"),
            ("asserts[].", "crates/workbench/src/code/row.rs", "WrittenAssert"),
            ("examples[].", "crates/workbench/src/code/row.rs", "Example"),
            ("comparison.", "crates/workbench/src/code/compare.rs", "Comparison"),
            ("comparison.floats.", "crates/workbench/src/code/compare.rs", "Tolerance"),
            ("comparison.checker.", "crates/workbench/src/code/program.rs", "Program"),
        ],
    },
    Section {
        page: "docs/code.md",
        heading: "Fields of a language",
        types: &[
            ("", "crates/workbench/src/code/language.rs", "Language"),
            ("memory.", "crates/workbench/src/code/language.rs", "Memory"),
        ],
    },
    Section {
        page: "docs/repositories.md",
        heading: "Fields",
        types: &[
            ("", "crates/workbench/src/repository/instance.rs", "Instance"),
            ("history[].", "crates/workbench/src/repository/instance.rs", "Step"),
        ],
    },
    Section {
        page: "docs/web.md",
        heading: "Fields of web.yaml",
        types: &[("", "crates/families/src/web/own/manifest.rs", "Written")],
    },
    Section {
        page: "docs/web.md",
        heading: "Fields of a task",
        types: &[
            ("", "crates/families/src/web/own/manifest.rs", "WrittenTask"),
            ("requests[].", "crates/families/src/web/own/manifest.rs", "WrittenRequest"),
        ],
    },
    Section {
        page: "docs/sql.md",
        heading: "Fields of a question",
        types: &[
            ("", "crates/sql/src/import/questions.rs", "Entry"),
            ("compare.", "crates/sql/src/task.rs", "Compare"),
        ],
    },
    Section {
        page: "docs/sql.md",
        heading: "Fields of a set",
        types: &[
            ("", "crates/sql/src/import/questions.rs", "QuestionSet"),
            ("databases.NAME.", "crates/sql/src/import/questions.rs", "DatabaseSettings"),
        ],
    },
    Section {
        page: "docs/sql.md",
        heading: "Fields of environment.yaml",
        types: &[("", "crates/sql/src/template/form.rs", "Environment")],
    },
    Section {
        page: "docs/sql.md",
        heading: "Fields of a template",
        types: &[("", "crates/sql/src/template/form.rs", "Form")],
    },
    Section {
        page: "docs/sql.md",
        heading: "Parameters of a template",
        types: &[
            ("", "crates/sql/src/template/form.rs", "ParameterSource"),
            ("slip.", "crates/sql/src/template/form.rs", "Slip"),
            ("range.", "crates/sql/src/template/form.rs", "Range"),
            ("column.", "crates/sql/src/template/form.rs", "Values"),
            ("row.", "crates/sql/src/template/form.rs", "Rows"),
        ],
    },
    Section {
        page: "docs/sql.md",
        heading: "Checks of a template",
        types: &[
            ("", "crates/sql/src/task.rs", "WeightedCheck"),
            ("check.", "crates/sql/src/task.rs", "Check"),
            ("check.result.accepted[].", "crates/sql/src/task.rs", "Accepted"),
            ("check.whole.free.", "crates/sql/src/task.rs", "Free"),
            ("check.queries.queries[].", "crates/sql/src/task.rs", "HiddenQuery"),
            ("check.probes.probes[].", "crates/sql/src/task.rs", "Probe"),
            ("check.properties.properties[].", "crates/sql/src/task.rs", "Property"),
            ("check.plan.budget[].", "crates/sql/src/task.rs", "PlanLimit"),
            ("check.schema.expect[].", "crates/sql/src/task.rs", "SchemaFact"),
        ],
    },
    Section { page: "docs/operating.md", heading: "Settings", types: &[("", "src/config.rs", "Config")] },
    Section {
        page: "docs/operating.md",
        heading: "Workers of the server",
        types: &[("--", "src/command/serve.rs", "ServeArguments")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Files and sections",
        types: &[("", "environments/app.schema.json", "")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a table",
        types: &[("table.", "environments/app.schema.json", "table")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a seed",
        types: &[("seed.", "environments/app.schema.json", "seed_table")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of an error",
        types: &[("error.", "environments/app.schema.json", "error")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of an action",
        types: &[
            ("action.", "environments/app.schema.json", "action"),
            ("guard.", "environments/app.schema.json", "guard"),
            ("macro.", "environments/app.schema.json", "macro"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Effects",
        types: &[
            ("", "environments/app.schema.json", "effect"),
            ("insert.", "environments/app.schema.json", "insert"),
            ("update.", "environments/app.schema.json", "update"),
            ("delete.", "environments/app.schema.json", "delete"),
            ("each.", "environments/app.schema.json", "each"),
            ("at.", "environments/app.schema.json", "at"),
            ("cancel.", "environments/app.schema.json", "cancel"),
            ("call.", "environments/app.schema.json", "call"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a view",
        types: &[
            ("view.", "environments/app.schema.json", "view"),
            ("view.embed.NAME.", "environments/app.schema.json", "children"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of permissions and rules",
        types: &[
            ("permission.", "environments/app.schema.json", "permission"),
            ("rule.", "environments/app.schema.json", "rule"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of an event",
        types: &[("event.", "environments/app.schema.json", "event")],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a screen",
        types: &[
            ("screen.", "environments/app.schema.json", "screen"),
            ("", "environments/app.schema.json", "widget"),
            ("dialog.", "environments/app.schema.json", "dialog"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a task",
        types: &[
            ("task.", "environments/app.schema.json", "task"),
            ("task.milestones[].", "environments/app.schema.json", "milestone"),
            ("task.minefields[].", "environments/app.schema.json", "minefield"),
            ("task.params.NAME.", "environments/app.schema.json", "draw"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a goal",
        types: &[
            ("goal.", "environments/app.schema.json", "goal"),
            ("goal.changes[].", "environments/app.schema.json", "change"),
            ("goal.changes[].fields.NAME.", "environments/app.schema.json", "field"),
            ("goal.answer.", "environments/app.schema.json", "answer"),
        ],
    },
    Section {
        page: "docs/app-language.md",
        heading: "Fields of a solution",
        types: &[("", "environments/app.schema.json", "step"), ("submit.", "environments/app.schema.json", "submit")],
    },
    Section {
        page: "docs/apps.md",
        heading: "Fields of a fixed task",
        types: &[
            ("", "crates/apps/src/definition/fixed.rs", "fn:read"),
            ("goal.", "crates/apps/src/definition/goal.rs", "fn:read_fixed"),
            ("goal.", "crates/apps/src/definition/goal.rs", "fn:rest"),
            ("solution[].", "crates/apps/src/definition/fixed.rs", "fn:call"),
        ],
    },
];
