// edgeret as a module of an Android application, Kotlin or Java. In settings.gradle.kts:
//     include(":edgeret")
//     project(":edgeret").projectDir = file("../edgeret/bindings/java")
// and in the application's build.gradle.kts: dependencies { implementation(project(":edgeret")) }
plugins {
    id("com.android.library")
}

android {
    namespace = "edgeret"
    compileSdk = 35
    defaultConfig {
        minSdk = 26 // java.nio.file
        consumerProguardFiles("keep.pro")
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    sourceSets["main"].java.setSrcDirs(listOf("src"))
    externalNativeBuild.cmake.path = file("CMakeLists.txt")
}

dependencies {
    compileOnly("org.jspecify:jspecify:1.0.0") // nullness, for compilers alone
}
