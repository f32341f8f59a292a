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
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/**
 * The instructions that order the store to a doorbell register, in the code of C2, as no execution
 * on memory that is not write-combining shows whether they are there.
 */
class DoorbellTest {
  /** {@code xchg [memory], r32}: perhaps a REX prefix, 87, and an operand that is no register. */
  private static final String EXCHANGE = "[\\x40-\\x47]?\\x87[\\x00-\\xbf]";

  /** {@code mov [memory], r64}: REX.W, 89, and a base register. */
  private static final String STORE = "[\\x48-\\x4f]\\x89[\\x00-\\xbf]";

  /** The test of the alignment, the operands; less than what the next doorbell would need. */
  private static final String FEW = "[\\x00-\\xff]{0,40}?";

  /** The exchange of the record, the store to the register, the exchange of the lock. */
  private static final Pattern RING = Pattern.compile(EXCHANGE + FEW + STORE + FEW + EXCHANGE);

  /** {@code lock addl [rsp+n], 0}: a fence, which C2 omits if another one follows. */
  private static final Pattern FENCE = Pattern.compile("\\xf0\\x83\\x44\\x24[\\x00-\\xff]\\x00");

  /** The heading of the code of a method, and its bytes in hexadecimal. */
  private static final Pattern METHOD =
      Pattern.compile(
          "Compiled method \\(c2\\).*?::(\\w+) .*?\\[Verified Entry Point](.*?)\\[/MachCode]",
          Pattern.DOTALL);

  private static final Pattern LINE = Pattern.compile("(?m)^ +0x[0-9a-f]+: ([0-9a-f |]+)$");

  @Test
  void registerIsBetweenTwoExchanges() {
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
                print(Mlx5CompletionQueue.class, "ibv_req_notify_cq"))
            .run(DoorbellLoop.class)
            .succeeded();
    for (String method : List.of("post", "ibv_req_notify_cq")) {
      List<String> codes =
          METHOD
              .matcher(output)
              .results()
              .filter(match -> match.group(1).equals(method))
              .map(match -> code(match.group(2)))
              .toList();
      assertFalse(codes.isEmpty(), output);
      String last = codes.getLast();
      assertTrue(RING.matcher(last).find(), () -> "no exchanges in " + method + ": " + output);
      assertFalse(FENCE.matcher(last).find(), () -> "fences in " + method + ": " + output);
    }
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
