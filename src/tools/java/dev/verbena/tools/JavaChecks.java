package dev.verbena.tools;

import dev.verbena.VerbsException;
import dev.verbena.cm.EventChannel;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.Verbena.Unsupported;
import dev.verbena.verbs.Verbena.Unsupported.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks that the JVM permits native access, and that the C libraries can be loaded. */
final class JavaChecks {
  private static final String INSTALL =
      "Debian, Ubuntu: apt install ibverbs-providers librdmacm1; Fedora, RHEL: dnf install"
          + " libibverbs librdmacm";

  private static final Pattern RDMACM =
      Pattern.compile("/librdmacm\\.so\\.1\\.\\d+\\.(\\d+\\.\\d+)$");

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
        .filter(because -> because.reason().compareTo(Reason.NATIVE_ACCESS) < 0)
        .ifPresent(
            because ->
                checks.add(
                    Check.problem(
                        because.explanation(),
                        "use Linux on x86-64 or aarch64, with a JVM 22+"
                            + (Machine.isLinux() ? "" : ", or -Ddev.verbena.soft=2"))));
    checks.add(
        Verbena.class.getModule().isNativeAccessEnabled()
            ? Check.ok("native access is enabled")
            : Check.problem(
                "native access is not enabled for Verbena",
                "java --enable-native-access=ALL-UNNAMED (class path) or"
                    + " --enable-native-access=dev.verbena (module path)"));
    return checks;
  }

  static List<Check> libraries() {
    Optional<Unsupported> missing = Verbena.unsupportedReason();
    if (missing.filter(because -> because.reason().compareTo(Reason.LIBRARY) < 0).isPresent()) {
      return List.of(Check.note("not checked", "see above"));
    }
    if (missing.filter(because -> because.reason() == Reason.LIBRARY).isPresent()) {
      return List.of(Check.problem(missing.get().explanation(), INSTALL));
    }
    String release = Verbena.rdmaCoreRelease().map(r -> " of rdma-core " + r).orElse("");
    return List.of(Check.ok("libibverbs" + release + " is installed"), librdmacm());
  }

  /** Checks that librdmacm can be loaded. Another check tests the kernel module. */
  private static Check librdmacm() {
    try {
      EventChannel.open().close();
    } catch (VerbsException e) {
      if (e.function().startsWith("dlopen")) {
        return Check.note(e.getMessage(), INSTALL + "; without it no connections by IP address");
      }
    } catch (UnsupportedOperationException | IllegalCallerException e) {
      return Check.note("librdmacm cannot be loaded: " + e.getMessage(), "see above");
    }
    String release = release(Machine.THIS.lines("/proc/self/maps"));
    return Check.ok("librdmacm" + release + " is installed");
  }

  /** Returns the release in the name of the mapped file, such as {@code librdmacm.so.1.3.44.0}. */
  static String release(List<String> maps) {
    return maps.stream()
        .map(RDMACM::matcher)
        .filter(Matcher::find)
        .map(found -> " of rdma-core " + found.group(1))
        .findFirst()
        .orElse("");
  }
}
