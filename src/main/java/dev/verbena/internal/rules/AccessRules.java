package dev.verbena.internal.rules;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.values.AccessFlag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * The rules for access flags and memory of a registration: checked before it, and used to explain
 * its failure.
 */
public final class AccessRules {
  private AccessRules() {}

  public static void check(Set<AccessFlag> access) {
    requires(access, AccessFlag.REMOTE_WRITE, AccessFlag.LOCAL_WRITE);
    requires(access, AccessFlag.REMOTE_ATOMIC, AccessFlag.LOCAL_WRITE);
    requires(access, AccessFlag.HUGETLB, AccessFlag.ON_DEMAND);
  }

  private static void requires(Set<AccessFlag> access, AccessFlag flag, AccessFlag needed) {
    if (access.contains(flag) && !access.contains(needed)) {
      throw new IllegalArgumentException(flag + " requires " + needed);
    }
  }

  public static void checkRegistrable(MemorySegment memory, Set<AccessFlag> access) {
    Segments.readable(memory, 0);
    if (memory.byteSize() == 0) {
      throw new IllegalArgumentException("an empty segment cannot be registered");
    }
    checkWritable(memory, access);
  }

  public static void checkWritable(MemorySegment memory, Set<AccessFlag> access) {
    if (access.contains(AccessFlag.LOCAL_WRITE) && memory.isReadOnly()) {
      throw new IllegalArgumentException("LOCAL_WRITE requires memory that is not read-only");
    }
  }

  /** Adds the likely cause to a failed registration. */
  public static VerbsException explained(
      VerbsException e, long length, Set<AccessFlag> access, String domain) {
    String what =
        "cannot register %s bytes %s in %s: "
            .formatted(Long.toUnsignedString(length), access, domain);
    return switch (e.errno()) {
      case Errno.ENOMEM -> Explanation.add(e, what + lockedMemoryAdvice(lockedMemoryLimit()));
      case Errno.EFAULT ->
          Explanation.add(
              e,
              what + "part of it is not mapped, or is mapped read-only and the flags allow writes");
      case Errno.EINVAL ->
          Explanation.add(
              e,
              what
                  + "the device does not support the size or the flags, or the start address"
                  + " has another offset in its page than the memory");
      case Errno.EOPNOTSUPP, Errno.ENOSYS ->
          Explanation.add(e, what + "the device does not support it, or not with these flags");
      default -> Explanation.add(e, what.substring(0, what.length() - 2));
    };
  }

  /** Returns what to do about ENOMEM of a registration. */
  public static String lockedMemoryAdvice(String limit) {
    return limit.equals("unlimited")
        ? "the limit of locked memory is unlimited, so it is not the reason: the memory of the"
            + " cgroup or of the host is used up, or the device has no room for another region"
        : "the limit of locked memory is "
            + limit
            + "; raise it with ulimit -l, in limits.conf or with LimitMEMLOCK of the unit";
  }

  private static String lockedMemoryLimit() {
    try (var lines = Files.lines(Path.of("/proc/self/limits"))) {
      return lines
          .filter(line -> line.startsWith("Max locked memory"))
          .map(line -> line.replaceFirst("Max locked memory +(\\S+) .*", "$1"))
          .map(limit -> limit.equals("unlimited") ? limit : limit + " bytes")
          .findFirst()
          .orElse("unknown");
    } catch (IOException e) {
      return "unknown";
    }
  }
}
