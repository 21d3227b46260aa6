import CEdgeret

/// A failure, in the words of the library: one line that says what is wrong and how to go on.
public struct EdgeretError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: UInt32, Sendable {
        /// An argument that does not fit: a blank query, an unknown tool, a task with 256 calls.
        case badInput = 1
        /// Damaged, forged, of another version, or put together from strangers.
        case badBundle = 2
        case noFile = 3
        case noMemory = 4
        /// The bundle's encoder does not run here.
        case noEncoder = 5
        case full = 6
        /// What was learned: damaged, forged, or another encoder's.
        case badOverlay = 7
        /// What was to be learned or forgotten could not be written, and was not.
        case notKept = 8
        /// Of a library that is newer than this layer.
        case other = 0xffff
    }

    public let code: Code
    public let message: String

    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ status: er_status, _ failure: er_error) {
        let words = withUnsafeBytes(of: failure.text) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        code = Code(rawValue: status.rawValue) ?? .other
        message = words.isEmpty ? String(cString: er_status_text(status)) : words
    }
}

/// Calls the library, and throws what it refused.
func check(_ call: (UnsafeMutablePointer<er_error>) -> er_status) throws {
    var failure = er_error()
    let status = call(&failure)
    if status != ER_OK { throw EdgeretError(status, failure) }
}

/// Gives a text's place and length while `body` runs.
func withText<Result>(_ text: String, _ body: (er_text) throws -> Result) rethrows -> Result {
    var text = text
    return try text.withUTF8 { bytes in
        try bytes.withMemoryRebound(to: CChar.self) { try body(er_text(at: $0.baseAddress, length: $0.count)) }
    }
}

/// The same of many, one behind the other.
func withTexts<Result>(_ texts: [String], _ body: (UnsafeBufferPointer<er_text>) throws -> Result) rethrows -> Result {
    var lengths: [Int] = []
    var bytes: [UInt8] = []
    for text in texts {
        lengths.append(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }
    return try bytes.withUnsafeBytes { all in
        let from = all.bindMemory(to: CChar.self).baseAddress
        var begin = 0
        let places = lengths.map { length -> er_text in
            defer { begin += length }
            return er_text(at: from.map { $0 + begin }, length: length)
        }
        return try places.withUnsafeBufferPointer(body)
    }
}

extension String {
    /// A copy, since the library's own lives as long as a handle.
    init(_ text: er_text) {
        self.init(decoding: UnsafeRawBufferPointer(start: text.at, count: text.length), as: UTF8.self)
    }
}
