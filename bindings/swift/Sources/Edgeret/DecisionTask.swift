import CEdgeret

/// One request, step by step: ask `next()`, run the tool, say so by `call`, ask again. One thread at a time uses it; it
/// keeps what it needs of its model.
public final class DecisionTask {
    public let model: Model
    let handle: OpaquePointer
    /// The user's words.
    public let query: String
    private let learner: Learner?
    /// Of each call its tool, arguments and result; nil for a failure.
    private var log: [[String]?]
    private var decided: String?

    init(_ made: OpaquePointer?, _ query: String, _ model: Model, _ learner: Learner?, log: [[String]?] = []) throws {
        guard let made else { throw EdgeretError(.other, "the library gave no task; build it again") }
        (handle, self.query, self.model, self.learner, self.log) = (made, query, model, learner, log)
    }

    deinit { er_end(handle) }

    /// What comes next. `minProbability` is the least that an answer needs, nil the bundle's own; `risk` is the share of
    /// wrong answers that is allowed, 0.005 to 0.5.
    public func next(policy: Policy = .auto, minProbability: Double? = nil, risk: Double? = nil) throws -> Decision {
        var options = er_next_options()
        options.size = MemoryLayout<er_next_options>.size
        options.policy = policy == .heads ? ER_HEADS : ER_AUTO
        // The library takes 0 for the bundle's own.
        options.min_probability = minProbability.map { $0 == 0 ? -1 : $0 } ?? 0
        options.risk = risk ?? 0
        var found = er_decision()
        found.size = MemoryLayout<er_decision>.size
        try check { er_next(handle, &options, &found, $0) }
        let decision = Decision(found)
        decided = decision.tool
        return decision
    }

    /// The most probable candidates of the decision before, best first; `tool` is nil for the end.
    public func candidates(limit: Int = 10) throws -> [Candidate] {
        var room = [er_candidate](repeating: er_candidate(), count: max(0, min(limit, 1 << 16)))
        var count = room.count
        try check { er_candidates(handle, &room, &count, $0) }
        return room.prefix(count).map { one in
            Candidate(tool: one.tool_number < 0 ? nil : String(one.tool), probability: one.probability)
        }
    }

    /// What a call of `tool`, of the one that `next()` decided unless told, is given: what the request and the calls before it
    /// say, and nothing that its schema refuses. `now` is what "tomorrow" is counted from.
    public func arguments(of tool: String? = nil, now: Clock? = nil, rulesAlone: Bool = false) throws -> Arguments {
        guard let tool = tool ?? decided else {
            throw EdgeretError(.badInput, "no tool was decided; ask next() first, or name the tool")
        }
        let made = log.compactMap { $0 }
        return try withTexts(made.flatMap { $0 }) { texts in
            try withText(tool) { name in
                let calls = stride(from: 0, to: texts.count, by: 3).map {
                    er_made_call(tool: texts[$0], arguments: texts[$0 + 1], result: texts[$0 + 2])
                }
                return try calls.withUnsafeBufferPointer { before in
                    var options = er_arguments_options()
                    options.size = MemoryLayout<er_arguments_options>.size
                    (options.calls, options.call_count) = (before.baseAddress, before.count)
                    options.rules_alone = rulesAlone ? 1 : 0
                    now?.tell(&options)
                    var values = [er_argument](repeating: er_argument(), count: 32)
                    var missing = [er_missing](repeating: er_missing(), count: 32)
                    var (count, missingCount) = (values.count, missing.count)
                    try check { er_arguments(handle, name, &options, &values, &count, &missing, &missingCount, $0) }
                    if count > values.count || missingCount > missing.count { // there are more than there was room for
                        values = [er_argument](repeating: er_argument(), count: count)
                        missing = [er_missing](repeating: er_missing(), count: missingCount)
                        try check { er_arguments(handle, name, &options, &values, &count, &missing, &missingCount, $0) }
                    }
                    return Arguments(Array(values.prefix(count)), Array(missing.prefix(missingCount)), query)
                }
            }
        }
    }

    /// It was called, with these arguments, a JSON object, and gave this as JSON; so may be tools that the model does not know.
    public func call(_ tool: String, arguments: String = "{}", result: String? = nil) throws {
        try withText(tool) { text in try check { er_call(handle, text, $0) } }
        decided = nil
        log.append([tool, arguments, result ?? ""])
    }

    /// It did not work, and is left out until the next call or `retry`.
    public func failed(_ tool: String) throws {
        try withText(tool) { text in try check { er_fail(handle, text, $0) } }
        decided = nil
        log.append(nil)
    }

    public func retry(_ tool: String) throws {
        try withText(tool) { text in try check { er_retry(handle, text, $0) } }
        decided = nil
    }

    /// Takes the last call or failure back.
    public func undo() throws {
        try check { er_undo(handle, $0) }
        decided = nil
        log.removeLast()
    }

    /// Another task that goes on from here on its own.
    public func fork() throws -> DecisionTask {
        var other: OpaquePointer?
        try check { er_fork(handle, &other, $0) }
        return try DecisionTask(other, query, model, learner, log: log)
    }

    /// Learns that the calls that were made, and no more, solve the request; of a task that a `Learner` began. With
    /// `withoutWords` the query's vector and the tools' names are kept alone.
    @discardableResult
    public func learn(withoutWords: Bool = false) throws -> Learned {
        var options = er_learn_options()
        options.size = MemoryLayout<er_learn_options>.size
        options.without_words = withoutWords ? 1 : 0
        var found = er_report()
        found.size = MemoryLayout<er_report>.size
        try check { er_learn(handle, &options, &found, $0) }
        return Learned(found)
    }
}

public enum Policy: Sendable {
    case auto
    /// Never abstains.
    case heads
}

/// Why a decision is as it is.
public enum Reason: UInt32, Sendable {
    case probable = 0
    /// Abstained: calling nothing is most probable.
    case nothingFits = 1
    /// Abstained: below the floor.
    case unsure = 2
    /// Abstained: every tool failed.
    case allFailed = 3
    /// Nothing is left to do.
    case done = 4
}

public struct Decision: Sendable, Equatable {
    /// nil where nothing is to be called.
    public let tool: String?
    /// Of the best candidate, calibrated.
    public let probability: Double
    public let reason: Reason
    /// No answer. Otherwise call the tool, or with no tool end the plan.
    public let abstained: Bool
    /// The tool asks that a person confirms its calls.
    public let confirm: Bool
    /// The request says the tool's name.
    public let named: Bool
    /// A table of token vectors decided, and no transformer.
    public let firstStage: Bool
    /// Graph and head decided; otherwise the tools alone.
    public let demonstrated: Bool
    /// What an answer needed.
    public let floor: Double
    /// The best candidate, also where it was not taken; nil for the end.
    public let best: String?

    init(_ of: er_decision) {
        let best = String(of.best)
        tool = of.tool_number < 0 ? nil : String(of.tool)
        (probability, floor) = (of.probability, of.floor)
        reason = Reason(rawValue: of.reason.rawValue) ?? .unsure
        (abstained, confirm, named) = (of.abstained != 0, of.confirm != 0, of.named != 0)
        (firstStage, demonstrated) = (of.stage == 0, of.demonstrated != 0)
        self.best = best == "<end>" ? nil : best
    }
}

public struct Candidate: Sendable, Equatable {
    public let tool: String?
    public let probability: Double
}
