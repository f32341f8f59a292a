package dev.verbena.tools;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks the resource limits of this process. */
final class LimitChecks {
  /** The locked-memory limit below which a note is printed. */
  private static final long ENOUGH = 64L << 20;

  private static final Pattern MEMLOCK = Pattern.compile("Max locked memory\\s+(\\S+)\\s.*");
  private static final Pattern HUGE_PAGES = Pattern.compile("HugePages_(Total|Free):\\s+(\\d+)");

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
    return checks;
  }

  private static Check lockedMemory(String limit) {
    if (limit.equals("unlimited")) {
      return Check.ok("locked memory: no limit");
    }
    long bytes = Long.parseLong(limit);
    String finding = "locked memory: at most " + Units.bytes(bytes) + " can be registered";
    return bytes >= ENOUGH
        ? Check.ok(finding)
        : Check.note(
            finding + ", unless privileged",
            "ulimit -l unlimited; permanently: memlock in /etc/security/limits.conf, LimitMEMLOCK="
                + " in a systemd unit, --ulimit memlock=-1 for a container");
  }

  private Check hugePages() {
    long total = 0;
    long free = 0;
    for (String line : machine.lines("/proc/meminfo")) {
      Matcher match = HUGE_PAGES.matcher(line);
      if (match.lookingAt()) {
        long pages = Long.parseLong(match.group(2));
        if (match.group(1).equals("Total")) {
          total = pages;
        } else {
          free = pages;
        }
      }
    }
    return Check.ok(
        total == 0
            ? "huge pages: none reserved (needed only for registrations that request them)"
            : "huge pages: " + free + " of " + total + " free");
  }
}
