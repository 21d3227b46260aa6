// Every number of conformance/, as every reader gives them; failures, lifetimes, threads.

import Foundation
import XCTest

@testable import Edgeret

private let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
private let conformance = root.appendingPathComponent("conformance")
private let close = 2e-6
private let door = #"{"name": "lock_door", "description": "lock the door of the house"}"#

private func bundle(_ kind: String) -> String { conformance.appendingPathComponent(kind).path }

private func files(_ kind: String) throws -> [String: [UInt8]] {
    let folder = bundle(kind)
    return Dictionary(uniqueKeysWithValues: try FileManager.default.contentsOfDirectory(atPath: folder).map {
        ($0, [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent($0))))
    })
}

/// What a file of conformance/ holds of each request.
private struct Told: Decodable {
    struct Pair: Decodable {
        let name: String, value: Double
        init(from decoder: Decoder) throws {
            var both = try decoder.unkeyedContainer()
            name = try both.decode(String.self)
            value = try both.decode(Double.self)
        }
    }
    struct Step: Decodable {
        let history: [String], tool: String?, abstained: Bool, confirm: Bool, probability: Double, candidates: [Pair]
    }
    struct Request: Decodable {
        let query: String, spans: [[UInt32]], vector: [Float], search: [Pair], steps: [Step]
    }
    let contentHash: String, tools: [String], requests: [Request]
}

final class ConformanceTests: XCTestCase {
    func testEveryNumber() throws {
        let kinds = try FileManager.default.contentsOfDirectory(atPath: conformance.path).filter { $0.hasSuffix(".json") }
        XCTAssertFalse(kinds.isEmpty)
        for kind in kinds {
            let data = try Data(contentsOf: conformance.appendingPathComponent(kind))
            let told = try JSONDecoder().decode(Told.self, from: data)
            let name = String(kind.dropLast(5))
            for model in [try Model(folder: bundle(name)), try Model(files: files(name))] {
                XCTAssertEqual(model.contentHash, told.contentHash)
                XCTAssertEqual(model.tools, told.tools)
                for request in told.requests { try compare(model, request) }
            }
        }
    }

    private func compare(_ model: Model, _ request: Told.Request) throws {
        let query = request.query
        XCTAssertEqual(try model.tokens(query).map { [$0.begin, $0.end] }, request.spans, query)
        for (found, wanted) in zip(try model.encode(query), request.vector) {
            XCTAssertEqual(found, wanted, accuracy: Float(close), query)
        }
        let hits = try model.search(query, limit: request.search.count, by: .hybrid)
        XCTAssertEqual(hits.map(\.tool), request.search.map(\.name), query)
        for (hit, wanted) in zip(hits, request.search) { XCTAssertEqual(hit.share, wanted.value, accuracy: close, query) }
        for step in request.steps {
            let task = try model.task(query), place = "\(query) behind \(step.history)"
            for tool in step.history { try task.call(tool) }
            let decision = try task.next()
            XCTAssertEqual(decision.tool, step.tool, place)
            XCTAssertEqual(decision.abstained, step.abstained, place)
            XCTAssertEqual(decision.confirm, step.confirm, place)
            XCTAssertEqual(decision.probability, step.probability, accuracy: close, place)
            let listed = Dictionary(uniqueKeysWithValues: try task.candidates(limit: 100).map { ($0.tool ?? "<end>", $0.probability) })
            XCTAssertEqual(listed.count, step.candidates.count, place)
            for wanted in step.candidates {
                XCTAssertEqual(try XCTUnwrap(listed[wanted.name]), wanted.value, accuracy: close, place)
            }
        }
    }
}

final class ModelTests: XCTestCase {
    private func refused(_ code: EdgeretError.Code, _ words: String, line: UInt = #line, _ body: () throws -> Void) {
        XCTAssertThrowsError(try body(), line: line) { error in
            XCTAssertEqual((error as? EdgeretError)?.code, code, "\(error)", line: line)
            XCTAssertTrue("\(error)".contains(words), "\(error)", line: line)
        }
    }

    func testWhatIsNoBundleIsRefusedInWords() throws {
        refused(.noFile, "manifest") { _ = try Model(files: [:]) }
        refused(.noFile, "no such folder") { _ = try Model(folder: bundle("nothing-here")) }
        var damaged = try files("few")
        damaged["head.msgpack"]![damaged["head.msgpack"]!.count - 1] ^= 1
        refused(.badBundle, "altered") { _ = try Model(files: damaged) }
        refused(.badBundle, "another bundle") {
            _ = try Model(folder: bundle("few"), options: LoadOptions(contentHash: String(repeating: "0", count: 64)))
        }
        refused(.badInput, "64 hexadecimal digits") {
            _ = try Model(folder: bundle("few"), options: LoadOptions(contentHash: "abc"))
        }
        refused(.badInput, "threads") { _ = try Model(folder: bundle("few"), options: LoadOptions(threads: 0)) }
    }

    func testArgumentsThatDoNotFitAreRefusedInWords() throws {
        let model = try Model(folder: bundle("few"))
        refused(.badInput, "empty") { _ = try model.task("  ") }
        refused(.badInput, "unknown tool \"nobody\"") { _ = try model.task("a", tools: ["nobody"]) }
        refused(.badInput, "allowed is empty") { _ = try model.task("a", tools: []) }
        let task = try model.task("find a file")
        refused(.badInput, "er_next first") { _ = try task.candidates() }
        refused(.badInput, "unknown tool") { try task.failed("nobody") }
        refused(.badInput, "nothing to undo") { try task.undo() }
        refused(.full, "begin a new task") { for _ in 0...256 { try task.call("find_file") } }
        XCTAssertNil(model.definition(of: "nobody"))
        XCTAssertEqual(try model.search("find a file", limit: -1), [])
    }

    func testOnlyWhatIsAllowedIsChosen() throws {
        let model = try Model(folder: bundle("few"))
        let decision = try model.task("find my file", tools: ["send_mail"]).next(policy: .heads)
        XCTAssertTrue(decision.tool == "send_mail" || decision.tool == nil)
        XCTAssertNotEqual(decision.best, "find_file")
        XCTAssertEqual(try model.task("find my file").next(minProbability: 0).floor, 0)
    }

    func testFailuresForksAndWhatIsTakenBack() throws {
        let model = try Model(folder: bundle("few"))
        let task = try model.task("find my file and send a mail")
        let first = try task.next()
        XCTAssertEqual(first.tool, "find_file")
        let fork = try task.fork()
        try task.failed("find_file")
        XCTAssertNotEqual(try task.next().tool, "find_file")
        try task.retry("find_file")
        try task.call("find_file")
        XCTAssertEqual(try task.next().tool, "send_mail")
        try task.undo()
        XCTAssertEqual(try fork.next(), first)
    }

    func testToolsComeAndGoAndTasksKeepWhatTheyNeed() throws {
        var model: Model? = try Model(files: files("few"))
        let grown = try XCTUnwrap(model).withTools(add: [door], remove: ["play_music"])
        XCTAssertEqual(grown.tools.filter { !model!.tools.contains($0) }, ["lock_door"])
        XCTAssertFalse(grown.tools.contains("play_music"))
        XCTAssertTrue(try XCTUnwrap(grown.definition(of: "lock_door")).contains("of the house"))
        refused(.badInput, "not JSON") { _ = try grown.withTools(add: ["no JSON"]) }
        XCTAssertEqual(try grown.withTools().tools, grown.tools)
        let task = try XCTUnwrap(model).task("find my file")
        model = nil
        XCTAssertEqual(try task.next().tool, "find_file")
        XCTAssertEqual(try grown.task("find my file").next().tool, "find_file")
    }

    func testACallsArgumentsAreRead() throws {
        let book = #"{"name": "book_table", "description": "Book a table.", "parameters": {"type": "object", "required": ["day", "guests"], "#
            + #""properties": {"day": {"type": "string", "format": "date"}, "guests": {"type": "integer"}}}}"#
        let model = try Model(folder: bundle("few")).withTools(add: [book]), query = "😀 book a table for 4 guests tomorrow"
        let task = try model.task(query), now = Clock(year: 2026, month: 11, day: 27, hour: 22)
        let found = try task.arguments(of: "book_table", now: now)
        XCTAssertEqual(found["guests"]?.value, .number(4))
        XCTAssertEqual(found["day"]?.value, .string("2026-11-28"))
        XCTAssertEqual(try String(query[XCTUnwrap(found["day"]?.range)]), "tomorrow")
        XCTAssertEqual(try task.arguments(of: "book_table").missing.map(\.name), ["day"])
        refused(.badInput, "no tool was decided") { _ = try task.arguments() }
        refused(.badInput, "unknown tool") { _ = try task.arguments(of: "nobody") }
        try task.call("book_table", arguments: #"{"guests": 4}"#, result: "7")
        try task.undo()
        XCTAssertEqual(try task.fork().arguments(of: "book_table", now: now), found)
    }

    func testALaterTurnLooksBack() throws {
        let model = try Model(folder: bundle("few"))
        let turn = try model.task("and mail it to me", earlier: [["find_file"], []])
        let with = try turn.next(), without = try model.task("and mail it to me").next()
        XCTAssertNotEqual(with, without)
    }

    func testADeviceLearnsAndForgets() throws {
        let model = try Model(folder: bundle("few")), query = "play my song", wanted = "write_note"
        let overlay = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: overlay) }
        let before = try model.task(query).next()
        XCTAssertNotEqual(before.tool, wanted)
        let learner = try Learner(model, overlay: overlay)
        XCTAssertEqual(try learner.report().stored, 0)
        for _ in 0..<12 {
            let task = try learner.task(query)
            try task.call(wanted)
            XCTAssertNotNil(try task.learn().id)
        }
        XCTAssertNotEqual(try learner.task(query).next(), before)
        XCTAssertEqual(try model.task(query).next(), before)
        let again = try Learner(model, overlay: overlay)
        XCTAssertEqual(try again.report().stored, try learner.report().stored)
        XCTAssertGreaterThan(try again.report().stored, 0)
        XCTAssertEqual(try again.plans().map(\.calls).first, [wanted])
        XCTAssertEqual(try again.plans().first?.query, query)
        XCTAssertEqual(try again.forget(.tool("nobody")), 0)
        XCTAssertEqual(try again.forget(.everything), try learner.report().stored)
        XCTAssertEqual(try again.report().stored, 0)
        XCTAssertEqual(try again.task(query).next(), before)
        refused(.badInput, "without a learner") { _ = try model.task(query).learn() }
    }

    func testTheManifestListsWhatIsRead() throws {
        let all = try files("few")
        let listed = try Model.list(manifest: all["manifest"]!)
        XCTAssertEqual(Set(listed.map(\.name)).union(["manifest"]), Set(all.keys))
        for (name, size) in listed { XCTAssertEqual(Int(size), all[name]?.count) }
    }

    func testThreadsShareAModel() throws {
        let model = try Model(folder: bundle("few")), queries = ["find my file and send a mail", "play music", "book a meeting"]
        let wanted = try queries.map { try model.task($0).next() }
        let wrong = Counter()
        DispatchQueue.concurrentPerform(iterations: 300) { i in
            guard let found = try? model.task(queries[i % 3]).next(), found == wanted[i % 3] else { return wrong.add() }
        }
        XCTAssertEqual(wrong.value, 0)
    }
}

private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private(set) var value = 0
    func add() { lock.lock(); value += 1; lock.unlock() }
}
