package dev.verbena.internal.mlx5;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Platform;
import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.ForkedJvm;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/**
 * The instructions that order the stores to a doorbell register, in the code of C2, as no execution
 * on memory that is not write-combining shows whether they are there.
 */
class DoorbellTest {
  /** {@code xchg [memory], r32}: perhaps a REX prefix, 87, and an operand that is no register. */
  private static final String EXCHANGE = "[\\x40-\\x47]?\\x87[\\x00-\\xbf]";

  /** That of a doorbell record, at the address in a register; that of a lock is of a field. */
  private static final String RECORD = "[\\x40-\\x47]?\\x87[\\x00-\\x3f]";

  /** {@code mov [memory], r64}: REX.W, 89, and a base register. */
  private static final String STORE = "[\\x48-\\x4f]\\x89[\\x00-\\xbf]";

  /** The test of the alignment, the operands; less than what the next doorbell would need. */
  private static final String FEW = "[\\x00-\\xff]{0,40}?";

  /** Moves between registers. */
  private static final String BETWEEN = "[\\x00-\\xff]{0,8}?";

  /** The choice between eight bytes and a copy, and the half of the register. */
  private static final String CHOICE = "[\\x00-\\xff]{0,120}?";

  /** The exchange of the record, the store to the register, the exchange of the lock. */
  private static final Pattern RING = Pattern.compile(RECORD + FEW + STORE + FEW + EXCHANGE);

  /** The same of a send queue. */
  private static final Pattern POST = Pattern.compile(RECORD + CHOICE + STORE + FEW + EXCHANGE);

  /**
   * The stores of a block in the order of their addresses, each after the load of what it stores.
   * They are between the other instructions of the doorbell, which C2 may place before.
   */
  private static final Pattern COPY =
      Pattern.compile(
          IntStream.range(1, 8)
              .mapToObj(i -> move("8b", 8 * i) + BETWEEN + move("89", 8 * i))
              .collect(Collectors.joining(BETWEEN)));

  /** {@code lock addl [rsp+n], 0}: a fence, which C2 omits if another one follows. */
  private static final Pattern FENCE = Pattern.compile("\\xf0\\x83\\x44\\x24[\\x00-\\xff]\\x00");

  /** {@code lock cmpxchg}: what a lock costs that does not belong to the thread. */
  private static final Pattern COMPARE_AND_SET = Pattern.compile("\\xf0[\\x40-\\x4f]?\\x0f\\xb1");

  /** The heading of the code of a method, and its bytes in hexadecimal. */
  private static final Pattern METHOD =
      Pattern.compile(
          "Compiled method \\(c2\\).*?::(\\w+) .*?\\[Verified Entry Point](.*?)\\[/MachCode]",
          Pattern.DOTALL);

  private static final Pattern LINE = Pattern.compile("(?m)^ +0x[0-9a-f]+: ([0-9a-f |]+)$");

  @Test
  void exchangesAroundTheRegisterAreTheOnlyLockedInstructions() {
    if (!Platform.current().isX86()) {
      throw new TestAbortedException("needs x86-64");
    }
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .withJarOf(ibv_qp.class)
            .with("-XX:-TieredCompilation", "-Xbatch", "-XX:+UnlockDiagnosticVMOptions")
            .with(
                print(Mlx5SendQueue.class, "post"),
                print(Mlx5CompletionQueue.class, "ibv_req_notify_cq"),
                print(Mlx5CompletionQueue.class, "ibv_poll_cq"))
            .run(DoorbellLoop.class)
            .succeeded();
    requireIn("post", output, POST, COPY);
    requireIn("ibv_req_notify_cq", output, RING);
    requireIn("ibv_poll_cq", output);
  }

  /** Requires instructions in the code of a method, and none that C2 would omit elsewhere. */
  private static void requireIn(String method, String output, Pattern... wanted) {
    List<String> codes =
        METHOD
            .matcher(output)
            .results()
            .filter(match -> match.group(1).equals(method))
            .map(match -> code(match.group(2)))
            .toList();
    assertFalse(codes.isEmpty(), output);
    String last = codes.getLast();
    for (Pattern pattern : wanted) {
      assertTrue(
          pattern.matcher(last).find(),
          () -> "not in " + method + ": " + pattern + " in " + output);
    }
    for (Pattern unwanted : List.of(FENCE, COMPARE_AND_SET)) {
      assertFalse(
          unwanted.matcher(last).find(), () -> "in " + method + ": " + unwanted + " in " + output);
    }
  }

  /** {@code mov} of 64 bits from or to a base register with a displacement of 8 bits. */
  private static String move(String opcode, int displacement) {
    return "[\\x48-\\x4f]\\x%s[\\x40-\\x7f]\\x24?\\x%02x".formatted(opcode, displacement);
  }

  private static String print(Class<?> type, String method) {
    return "-XX:CompileCommand=print," + type.getName() + "::" + method;
  }

  /** The code, a character for each byte. */
  private static String code(String printed) {
    StringBuilder code = new StringBuilder();
    for (MatchResult line : LINE.matcher(printed).results().toList()) {
      byte[] bytes = HexFormat.of().parseHex(line.group(1).replaceAll("[ |]", ""));
      code.append(new String(bytes, ISO_8859_1));
    }
    return code.toString();
  }
}
