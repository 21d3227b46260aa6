import CEdgeret

/// What is learned on this device: which calls solved a request. Any thread may use it.
public final class Learner: @unchecked Sendable {
    let handle: OpaquePointer
    private let model: Model

    /// Goes on where the file `overlay` left off, which is made with the first plan; nil: what is learned lasts as long as
    /// the learner. `waitSeconds` is for another writer to end; nil: 10.
    public init(_ model: Model, overlay: String? = nil, waitSeconds: Double? = nil) throws {
        var options = er_learner_options()
        options.size = MemoryLayout<er_learner_options>.size
        options.wait_s = waitSeconds ?? 0
        var made: OpaquePointer?
        try check { er_learner_open(model.handle, overlay, &options, &made, $0) }
        guard let made else { throw EdgeretError(.other, "the library gave no learner; build it again") }
        (handle, self.model) = (made, model)
    }

    deinit { er_learner_close(handle) }

    /// One request that is decided by what was learned, too; with the model's tools, and those that came and went by the
    /// overlay.
    public func task(_ query: String, tools: [String]? = nil, earlier: [[String]]? = nil) throws -> DecisionTask {
        guard let own = er_learner_model(handle) else { throw EdgeretError(.other, "this learner has no model") }
        return try DecisionTask(begin(own, query, tools, earlier, self), query, model, self)
    }

    public func report() throws -> Learned {
        var found = er_report()
        found.size = MemoryLayout<er_report>.size
        try check { er_learned(handle, &found, $0) }
        return Learned(found)
    }

    /// All plans that are stored, in no order.
    public func plans() throws -> [LearnedPlan] {
        final class Found { var plans: [LearnedPlan] = [] }
        let found = Found()
        let context = Unmanaged.passUnretained(found).toOpaque()
        try check { failure in
            er_learned_plans(handle, { context, told in
                guard let context, let told else { return }
                Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().plans.append(LearnedPlan(told.pointee))
            }, context, failure)
        }
        return found.plans
    }

    /// Forgets plans, and all that they taught; returns how many there were.
    @discardableResult
    public func forget(_ what: Forgotten) throws -> Int {
        var count: UInt32 = 0
        var options = er_forget_options()
        options.size = MemoryLayout<er_forget_options>.size
        func call() throws { try check { er_forget(handle, &options, &count, $0) } }
        switch what {
        case .query(let text): try withText(text) { options.query = $0; try call() }
        case .tool(let name): try withText(name) { options.tool = $0; try call() }
        case .id(let id): try withUnsafePointer(to: id) { (options.ids, options.id_count) = ($0, 1); try call() }
        case .everything:
            options.everything = 1
            try call()
        }
        return Int(count)
    }
}

public enum Forgotten: Sendable {
    /// Plans with these words, whatever their case and spaces.
    case query(String)
    /// Plans that call it.
    case tool(String)
    case id(Int64)
    case everything
}

/// What a learner holds.
public struct Learned: Sendable, Equatable {
    /// Plans, in all.
    public let stored: Int
    /// Not while what was learned does worse than the bundle alone.
    public let used: Bool
    /// Nats a plan over the bundle.
    public let gain: Double
    /// Of the numbers, as they are written.
    public let bytes: UInt64
    /// Of the plan that was learned; nil from `report()`.
    public let id: Int64?

    init(_ of: er_report) {
        (stored, used, gain, bytes) = (Int(of.stored), of.used != 0, of.gain, of.bytes)
        id = of.id < 0 ? nil : of.id
    }
}

public struct LearnedPlan: Sendable, Equatable {
    public let id: Int64
    /// Empty where no words were kept.
    public let query: String
    public let calls: [String]
    /// Seconds since 1970.
    public let learnedAt: Double

    init(_ of: er_plan_told) {
        (id, query, learnedAt) = (of.id, String(of.query), of.learned_at)
        calls = UnsafeBufferPointer(start: of.calls, count: Int(of.call_count)).map { String($0) }
    }
}
