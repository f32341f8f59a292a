package dev.verbena.tools;

import dev.verbena.verbs.Unsupported;
import dev.verbena.verbs.Unsupported.Reason;
import dev.verbena.verbs.Verbena;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Whether this JVM can call C, and finds the C libraries. */
final class JavaChecks {
  private static final String INSTALL =
      "Debian, Ubuntu: apt install ibverbs-providers librdmacm1; Fedora, RHEL: dnf install"
          + " libibverbs librdmacm";

  private JavaChecks() {}

  static List<Check> java() {
    List<Check> checks = new ArrayList<>();
    checks.add(
        Check.ok(
            "Java %s of %s on %s %s"
                .formatted(
                    Runtime.version(),
                    System.getProperty("java.vendor"),
                    System.getProperty("os.name"),
                    System.getProperty("os.arch"))));
    Optional<Unsupported> unsupported = Verbena.unsupportedReason();
    unsupported
        .filter(because -> isOne(because, Reason.OPERATING_SYSTEM, Reason.ARCHITECTURE))
        .ifPresent(
            because ->
                checks.add(
                    Check.problem(
                        because.explanation(), "use Linux on x86-64 or aarch64, with a JVM 22+")));
    checks.add(
        Verbena.class.getModule().isNativeAccessEnabled()
            ? Check.ok("native access is enabled")
            : Check.problem(
                "this JVM was not told that Verbena may call C",
                "java --enable-native-access=ALL-UNNAMED (class path) or"
                    + " --enable-native-access=dev.verbena (module path)"));
    return checks;
  }

  static List<Check> libraries() {
    List<Check> checks = new ArrayList<>();
    Optional<Unsupported> missing =
        Verbena.unsupportedReason().filter(because -> isOne(because, Reason.LIBRARY));
    if (missing.isPresent()) {
      checks.add(Check.problem(missing.get().explanation(), INSTALL));
    } else {
      String release = Verbena.rdmaCoreRelease().map(r -> " of rdma-core " + r).orElse("");
      checks.add(Check.ok("libibverbs" + release + " is there"));
    }
    return checks;
  }

  private static boolean isOne(Unsupported because, Reason... reasons) {
    return List.of(reasons).contains(because.reason());
  }
}
