import CEdgeret

/// What is loaded of a bundle, and how.
public struct LoadOptions: Sendable {
    /// 64 hex digits that the bundle must have, got over a way that is trusted; nil: any.
    public var contentHash: String?
    /// The small encoder decides everything, and the large one is not read: profile "tiny".
    public var firstStageAlone: Bool
    /// Accuracy that the small encoder may cost; nil: 0.005, below 0: it is never asked.
    public var mostLoss: Double?
    /// Threads that encode a text.
    public var threads: Int

    public init(contentHash: String? = nil, firstStageAlone: Bool = false, mostLoss: Double? = nil, threads: Int = 1) {
        self.contentHash = contentHash
        self.firstStageAlone = firstStageAlone
        self.mostLoss = mostLoss
        self.threads = threads
    }

    func with<Result>(_ body: (UnsafePointer<er_load_options>) throws -> Result) rethrows -> Result {
        try withText(contentHash ?? "") { hash in
            var options = er_load_options()
            options.size = MemoryLayout<er_load_options>.size
            options.content_hash = hash
            options.first_stage_alone = firstStageAlone ? 1 : 0
            // The library takes 0 for its own; what is next to nothing is nothing.
            options.most_loss = mostLoss.map { $0 == 0 ? .leastNormalMagnitude : $0 } ?? 0
            options.threads = Int32(clamping: threads == 0 ? -1 : threads)
            return try body(&options)
        }
    }
}

/// A loaded bundle. It never changes, and any thread may use it.
public final class Model: @unchecked Sendable {
    let handle: OpaquePointer
    let files: Files?
    public let contentHash: String
    /// Names of all tools, in the library's order.
    public let tools: [String]
    /// Tools that demonstrations call, and the end of a plan; 0 from tools alone.
    public let labels: Int
    /// Of the vectors of the encoder that decides.
    public let dimension: Int
    /// 1, or 2 with a small encoder in front.
    public let stages: Int
    /// Whether text can be encoded here.
    public let encodes: Bool
    /// Bytes that the model holds; mapped files, and what it shares with another one, not counted.
    public let bytes: Int

    /// Loads the bundle in a folder. Every file that is read is proved first.
    public convenience init(folder: String, options: LoadOptions = LoadOptions()) throws {
        var made: OpaquePointer?
        try options.with { told in try check { er_load(folder, told, &made, $0) } }
        try self.init(made, nil)
    }

    /// Loads files in memory, by their names in the bundle's folder; "manifest" is one of them.
    public convenience init(files: [String: [UInt8]], options: LoadOptions = LoadOptions()) throws {
        let held = Files(files)
        var made: OpaquePointer?
        try options.with { told in try check { er_load_files(held.table, held.count, told, &made, $0) } }
        try self.init(made, held)
    }

    init(_ made: OpaquePointer?, _ files: Files?) throws {
        guard let made else { throw EdgeretError(.other, "the library gave no model; build it again") }
        var summary = er_summary()
        summary.size = MemoryLayout<er_summary>.size
        do {
            try check { er_describe(made, &summary, $0) }
        } catch {
            er_free(made)
            throw error
        }
        handle = made
        self.files = files
        contentHash = String(summary.content_hash)
        tools = (0..<summary.tools).map { String(er_tool_name(made, $0)) }
        (labels, dimension) = (Int(summary.labels), Int(summary.dimension))
        (stages, encodes, bytes) = (Int(summary.stages), summary.encodes != 0, summary.bytes)
    }

    deinit { er_free(handle) }

    /// Names and sizes of the files that a loading reads, by a manifest's bytes.
    public static func list(manifest: [UInt8], firstStageAlone: Bool = false) throws -> [(name: String, size: UInt64)] {
        var room = [er_listed](repeating: er_listed(), count: 256)
        var count = room.count
        return try manifest.withUnsafeBytes { bytes in
            try check { er_list(bytes.baseAddress, bytes.count, firstStageAlone ? 1 : 0, &room, &count, $0) }
            return room.prefix(count).map { (String($0.name), $0.size) }
        }
    }

    /// A tool's definition, a JSON object with name, description and parameters; nil: there is no such tool.
    public func definition(of tool: String) -> String? {
        number(of: tool).map { String(er_tool_definition(handle, $0)) }
    }

    /// Another model with tools added, removed by name, and replaced; definitions are JSON objects. It shares what stays
    /// with this one, in milliseconds.
    public func withTools(add: [String] = [], remove: [String] = [], replace: [String] = []) throws -> Model {
        var made: OpaquePointer?
        try withTexts(add + remove + replace) { texts in
            var change = er_change()
            change.size = MemoryLayout<er_change>.size
            let at = texts.baseAddress
            (change.add, change.add_count) = (at, add.count)
            (change.remove, change.remove_count) = (at.map { $0 + add.count }, remove.count)
            (change.replace, change.replace_count) = (at.map { $0 + add.count + remove.count }, replace.count)
            try check { er_with_tools(handle, &change, &made, $0) }
        }
        return try Model(made, files)
    }

    /// One request, step by step. `tools` are the only ones that may be chosen; `earlier`, where a conversation goes
    /// on, are the calls of each turn before, oldest first.
    public func task(_ query: String, tools: [String]? = nil, earlier: [[String]]? = nil) throws -> DecisionTask {
        try DecisionTask(begin(handle, query, tools, earlier, nil), query, self, nil)
    }

    /// The tools that words want most, best first.
    public func search(_ query: String, limit: Int = 10, by strategy: SearchStrategy = .auto) throws -> [Hit] {
        var options = er_search_options()
        options.size = MemoryLayout<er_search_options>.size
        options.strategy = er_search_strategy(rawValue: strategy.rawValue)
        var room = [er_hit](repeating: er_hit(), count: max(0, min(limit, tools.count)))
        var count = room.count
        try withText(query) { text in try check { er_search(handle, text, &options, &room, &count, $0) } }
        return room.prefix(count).map { Hit(tool: String($0.tool), score: $0.score, share: $0.share, cosine: $0.cosine) }
    }

    /// The query's unit vector, `dimension` numbers.
    public func encode(_ query: String) throws -> [Float] {
        var vector = [Float](repeating: 0, count: dimension)
        try withText(query) { text in try check { er_encode(handle, text, &vector, dimension, $0) } }
        return vector
    }

    /// The query's tokens, and where they begin and end: Unicode scalars of the encoder's prefix and the query.
    public func tokens(_ query: String) throws -> [(id: UInt32, begin: UInt32, end: UInt32)] {
        try withText(query) { text in
            var count = 0
            try check { er_tokens(handle, text, nil, nil, nil, &count, $0) }
            var (ids, begins, ends) = ([UInt32](repeating: 0, count: count), [UInt32](repeating: 0, count: count), [UInt32](repeating: 0, count: count))
            try check { er_tokens(handle, text, &ids, &begins, &ends, &count, $0) }
            return ids.indices.map { (ids[$0], begins[$0], ends[$0]) }
        }
    }

    func number(of tool: String) -> UInt32? {
        UInt32(exactly: withText(tool) { er_tool_find(handle, $0) })
    }
}

/// A tool that fits words; the shares of all tools sum to 1.
public struct Hit: Sendable, Equatable {
    public let tool: String
    public let score, share, cosine: Double
}

/// By what tools are ranked: by demonstrations where words are like one of them and else as hybrid; by the tools' own words;
/// or by the cosine alone.
public enum SearchStrategy: UInt32, Sendable {
    case auto = 0
    case hybrid = 1
    case description = 2
}

/// Files that models and their tasks read as long as one of them is there.
final class Files {
    let table: UnsafeMutablePointer<er_file>
    let count: Int
    private var places: [UnsafeMutableRawPointer] = []

    init(_ files: [String: [UInt8]]) {
        count = files.count
        table = .allocate(capacity: max(count, 1))
        for (number, (name, bytes)) in files.enumerated() {
            let at = copied(bytes), named = copied(Array(name.utf8))
            let text = er_text(at: UnsafePointer(named.assumingMemoryBound(to: CChar.self)), length: name.utf8.count)
            (table + number).initialize(to: er_file(name: text, bytes: at, length: bytes.count))
        }
    }

    deinit {
        for place in places { place.deallocate() }
        table.deallocate()
    }

    private func copied(_ bytes: [UInt8]) -> UnsafeMutableRawPointer {
        let place = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 64)
        place.copyMemory(from: bytes, byteCount: bytes.count)
        places.append(place)
        return place
    }
}

/// Begins a request on a model, with a learner or without.
func begin(
    _ model: OpaquePointer, _ query: String, _ tools: [String]?, _ earlier: [[String]]?, _ learner: Learner?
) throws -> OpaquePointer? {
    let numbers = try tools.map { try $0.map { tool -> UInt32 in
        guard let number = UInt32(exactly: withText(tool) { er_tool_find(model, $0) }) else {
            throw EdgeretError(.badInput, "unknown tool \"\(tool)\"; model.tools lists those that are there")
        }
        return number
    } }
    var made: OpaquePointer?
    try withText(query) { text in
        try (numbers ?? []).withUnsafeBufferPointer { allowed in
            var options = er_begin_options()
            options.size = MemoryLayout<er_begin_options>.size
            options.learner = learner?.handle
            // An empty list has to be told from none.
            var nobody: UInt32 = 0
            try withUnsafePointer(to: &nobody) { somewhere in
                options.allowed = numbers == nil ? nil : allowed.baseAddress ?? somewhere
                options.allowed_count = allowed.count
                guard let earlier else { return try check { er_begin(model, text, &options, &made, $0) } }
                try withTexts(earlier.flatMap { $0 }) { calls in
                    options.earlier = calls.baseAddress
                    options.earlier_count = calls.count
                    options.last_count = earlier.last { !$0.isEmpty }?.count ?? 0
                    if calls.isEmpty { options.earlier = UnsafePointer(bitPattern: MemoryLayout<er_text>.alignment) }
                    try check { er_begin(model, text, &options, &made, $0) }
                }
            }
        }
    }
    withExtendedLifetime(learner) {}
    return made
}
