import CEdgeret

/// What a call is given.
public struct Arguments: Sendable, Equatable {
    public struct Argument: Sendable, Equatable {
        public let name: String
        public let value: Value
        public let source: Source
        /// Where its words stand in the request; nil where it is not from there.
        public let range: Range<String.Index>?
        /// The share of such values that are right.
        public let confidence: Double
        /// Others that may be meant, the likeliest first.
        public let alternatives: [Value]
    }

    /// Where a value is from.
    public enum Source: UInt32, Sendable {
        /// Words of the request.
        case rule = 0
        /// One of the schema's choices, or a Boolean.
        case choice = 1
        /// What an earlier call gave; "$out_1" where nobody told what that was.
        case output = 2
        /// An earlier call's argument of that name.
        case earlier = 3
        /// The schema's.
        case byDefault = 4
    }

    /// A value, by its type in JSON; lists and objects as JSON.
    public enum Value: Sendable, Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case json(String)

        init(_ of: er_value) {
            let text = String(of.text)
            switch of.type {
            case ER_NULL: self = .null
            case ER_BOOLEAN: self = .bool(text == "true")
            case ER_INTEGER, ER_NUMBER: self = Double(text).map(Value.number) ?? .json(text)
            case ER_STRING: self = .string(text)
            default: self = .json(text)
            }
        }
    }

    /// In the schema's order, those first that a call must have.
    public let given: [Argument]
    /// A question for each that a call must have and nobody said, or whose value is likelier wrong than right.
    public let missing: [(name: String, question: String)]

    public subscript(name: String) -> Argument? { given.first { $0.name == name } }

    public static func == (a: Arguments, b: Arguments) -> Bool {
        a.given == b.given && a.missing.elementsEqual(b.missing, by: ==)
    }

    init(_ values: [er_argument], _ questions: [er_missing], _ query: String) {
        let scalars = query.unicodeScalars
        given = values.map { one in
            let others = [one.alternatives.0, one.alternatives.1, one.alternatives.2].prefix(Int(one.alternative_count))
            let begin = scalars.index(scalars.startIndex, offsetBy: Int(one.begin), limitedBy: scalars.endIndex) ?? scalars.endIndex
            let end = scalars.index(scalars.startIndex, offsetBy: Int(one.end), limitedBy: scalars.endIndex) ?? scalars.endIndex
            return Argument(
                name: String(one.name), value: Value(one.value), source: Source(rawValue: one.source.rawValue) ?? .rule,
                range: one.end == 0 ? nil : begin..<end, confidence: one.confidence, alternatives: others.map(Value.init))
        }
        missing = questions.map { (String($0.name), String($0.question)) }
    }
}

/// A day and a time, as the user's calendar has them.
public struct Clock: Sendable, Equatable {
    public var year, month, day, hour, minute, second: Int
    /// Minutes ahead of UTC; nil where nobody knows.
    public var zone: Int?

    public init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, zone: Int? = nil) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second, self.zone) = (hour, minute, second, zone)
    }

    func tell(_ options: inout er_arguments_options) {
        (options.year, options.month, options.day) = (Int32(clamping: year), Int32(clamping: month), Int32(clamping: day))
        (options.hour, options.minute, options.second) = (Int32(clamping: hour), Int32(clamping: minute), Int32(clamping: second))
        (options.zoned, options.zone) = (zone == nil ? 0 : 1, Int32(clamping: zone ?? 0))
    }
}
