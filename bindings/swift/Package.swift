// swift-tools-version: 5.9
// edgeret for Swift: CEdgeret is core/, compiled from its sources, and Edgeret a small layer over its header.

import PackageDescription

let package = Package(
    name: "Edgeret",
    platforms: [.macOS(.v11), .iOS(.v14), .tvOS(.v14), .watchOS(.v7)],
    products: [.library(name: "Edgeret", targets: ["Edgeret"])],
    targets: [
        .target(
            name: "CEdgeret",
            cSettings: [.define("ER_BUILD")],
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]
        ),
        .target(name: "Edgeret", dependencies: ["CEdgeret"]),
        .testTarget(name: "EdgeretTests", dependencies: ["Edgeret"]),
    ],
    cLanguageStandard: .c11
)
