package dev.verbena.tools;

import dev.verbena.tools.output.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks the resource limits of this process. */
final class LimitChecks {
  /** The locked-memory limit below which a note is printed. */
  private static final long ENOUGH = 64L << 20;

  private static final Pattern MEMLOCK = Pattern.compile("Max locked memory\\s+(\\S+)\\s.*");

  /** CAP_IPC_LOCK, which counts in the initial user namespace only. */
  private static final long IPC_LOCK = 1L << 14;

  /** The map of user IDs in the initial user namespace. */
  private static final Pattern ALL_USERS = Pattern.compile("\\s*0\\s+0\\s+4294967295\\s*");

  private static final String NAMESPACES = "/sys/module/ib_core/parameters/netns_mode";

  private final Machine machine;

  LimitChecks(Machine machine) {
    this.machine = machine;
  }

  List<Check> run() {
    List<Check> checks = new ArrayList<>();
    machine.lines("/proc/self/limits").stream()
        .map(MEMLOCK::matcher)
        .filter(Matcher::matches)
        .map(match -> lockedMemory(match.group(1)))
        .forEach(checks::add);
    checks.add(hugePages());
    machine.lines("/proc/self/cgroup").stream()
        .filter(line -> line.startsWith("0::"))
        .map(line -> "/sys/fs/cgroup" + line.substring(3) + "/rdma.max")
        .flatMap(file -> machine.lines(file).stream())
        .map(LimitChecks::objects)
        .forEach(checks::add);
    machine.firstLine(NAMESPACES).map(LimitChecks::namespaces).ifPresent(checks::add);
    return checks;
  }

  /** A line of rdma.max, such as {@code mlx5_0 hca_handle=2 hca_object=2000}. */
  private static Check objects(String line) {
    return line.matches("\\S+( \\S+=max)*")
        ? Check.ok("RDMA cgroup: no limit for " + line.replaceFirst(" .*", ""))
        : Check.note(
            "RDMA cgroup: "
                + line
                + ": beyond it opening a device or creating an object fails with"
                + " EAGAIN",
            "raise rdma.max of the cgroup, if that is too little");
  }

  /** The parameter is Y or N, as the kernel prints booleans. */
  private static Check namespaces(String shared) {
    return Check.ok(
        shared.equals("Y")
            ? "network namespaces: share all devices, but each sees only its own GIDs"
            : "network namespaces: a device belongs to one (rdma dev set DEVICE netns NAME)");
  }

  /** Whether the kernel does not limit the locked memory: not in a user namespace. */
  private boolean ignoresLimit() {
    return machine
            .field("/proc/self/status", "CapEff")
            .filter(mask -> (Long.parseUnsignedLong(mask, 16) & IPC_LOCK) != 0)
            .isPresent()
        && machine.firstLine("/proc/self/uid_map").filter(ALL_USERS.asMatchPredicate()).isPresent();
  }

  private Check lockedMemory(String limit) {
    if (limit.equals("unlimited")) {
      return Check.ok("locked memory: no limit");
    }
    if (ignoresLimit()) {
      return Check.ok("locked memory: no limit, by the capability CAP_IPC_LOCK");
    }
    long bytes = Long.parseLong(limit);
    String finding = "locked memory: at most " + Units.bytes(bytes) + " can be registered";
    return bytes >= ENOUGH
        ? Check.ok(finding)
        : Check.note(
            finding,
            "ulimit -l unlimited; permanently: memlock in /etc/security/limits.conf, LimitMEMLOCK="
                + " in a systemd unit, --ulimit memlock=-1 for a container");
  }

  private Check hugePages() {
    String total = machine.field("/proc/meminfo", "HugePages_Total").orElse("0");
    String free = machine.field("/proc/meminfo", "HugePages_Free").orElse("0");
    return Check.ok(
        total.equals("0")
            ? "huge pages: none reserved (needed only for registrations that request them)"
            : "huge pages: " + free + " of " + total + " free");
  }
}
