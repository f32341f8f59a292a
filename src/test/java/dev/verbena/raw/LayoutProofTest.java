package dev.verbena.raw;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.verbena.internal.foreign.Abi;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Raw says the same as the C headers.
 *
 * <p>System properties: {@code verbena.headers} names a folder of headers to take instead of the
 * installed ones; {@code verbena.layoutProof=required} makes a failure of what is otherwise
 * skipped, and of anything that the headers do not know.
 */
class LayoutProofTest {
  private static final Optional<String> HEADERS =
      Optional.ofNullable(System.getProperty("verbena.headers"));
  private static final String DEMAND = System.getProperty("verbena.layoutProof", "");
  private static final boolean COMPLETE = DEMAND.equals("complete");
  private static final boolean REQUIRED = COMPLETE || DEMAND.equals("required");

  enum Architecture {
    X86_64("x86_64", Abi.X86_64),
    AARCH64("aarch64", Abi.AARCH64);

    private final String gnuName;
    private final Abi abi;

    Architecture(String gnuName, Abi abi) {
      this.gnuName = gnuName;
      this.abi = abi;
    }
  }

  @ParameterizedTest
  @EnumSource
  void layoutsAreThoseOfTheHeaders(Architecture architecture) {
    LayoutProof.Verdict verdict = proof(architecture, architecture.abi).run();
    report(architecture, verdict);
    assertEquals("", String.join("\n", verdict.refuted()));
    assertTrue(verdict.proven().get(Claim.Kind.STRUCT) > 0, "nothing was proven");
    if (COMPLETE) {
      assertEquals(List.of(), verdict.unknown());
    }
  }

  @ParameterizedTest
  @EnumSource
  void offsetsOfTheOtherArchitectureAreRejected(Architecture architecture) {
    Abi other = architecture.abi == Abi.X86_64 ? Abi.AARCH64 : Abi.X86_64;
    List<String> refuted = proof(architecture, other).run().refuted();
    assertTrue(refuted.stream().anyMatch(claim -> claim.startsWith("struct ibv_qp:")), "a size");
    assertTrue(
        refuted.stream().anyMatch(claim -> claim.startsWith("struct ibv_qp_ex.wr_start:")),
        "an offset");
  }

  @Test
  void accessorsAgreeWithLayouts() {
    int fields = 0;
    for (Class<?> struct : RawTypes.structs()) {
      for (Class<?> type : withNested(struct)) {
        var offsets = RawTypes.offsets(type);
        var byName = new TreeMap<String, Long>();
        for (String field : offsets.keySet()) {
          byName.put(field, Abi.X86_64.offsetOf(RawTypes.layout(type), field));
        }
        assertEquals(byName, offsets, type.getName());
        fields += offsets.size();
      }
    }
    assertTrue(fields > 0, "no accessor was found");
  }

  private static List<Class<?>> withNested(Class<?> struct) {
    return Stream.concat(Stream.of(struct), RawTypes.nested(struct)).toList();
  }

  private static LayoutProof proof(Architecture architecture, Abi abi) {
    Optional<Compiler> compiler = Compiler.forArchitecture(architecture.gnuName, HEADERS);
    if (compiler.isEmpty()) {
      return unable("no C compiler for " + architecture.gnuName);
    }
    LayoutProof proof = new LayoutProof(compiler.get(), abi, COMPLETE);
    Optional<String> obstacle = proof.obstacle();
    if (obstacle.isPresent()) {
      return unable("no headers for " + architecture.gnuName + ": " + obstacle.get());
    }
    return proof;
  }

  private static LayoutProof unable(String reason) {
    if (REQUIRED) {
      return fail(reason);
    }
    return Assumptions.abort(reason);
  }

  private static void report(Architecture architecture, LayoutProof.Verdict verdict) {
    System.out.printf(
        "Layout proof, %s: %d structs, %d fields, %d constants hold; %d fail; %d grew; %d"
            + " unknown%n",
        architecture.gnuName,
        verdict.proven().getOrDefault(Claim.Kind.STRUCT, 0),
        verdict.proven().getOrDefault(Claim.Kind.FIELD, 0),
        verdict.proven().getOrDefault(Claim.Kind.CONSTANT, 0),
        verdict.refuted().size(),
        verdict.grew().size(),
        verdict.unknown().size());
    if (!verdict.unknown().isEmpty()) {
      System.out.println("  unknown to these headers: " + String.join(", ", verdict.unknown()));
      System.out.println("  grew since these headers: " + String.join(", ", verdict.grew()));
    }
  }
}
