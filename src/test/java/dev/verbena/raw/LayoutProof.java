package dev.verbena.raw;

import dev.verbena.internal.foreign.Abi;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.StructLayout;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Lets a C compiler judge every struct, field and constant of raw.
 *
 * <p>First it is asked, line by line, what the headers know at all; then every claim about what
 * they know becomes a {@code _Static_assert}.
 */
final class LayoutProof {
  private static final String HEADERS =
      """
      #include <stddef.h>
      #include <stdint.h>
      #include <time.h>
      #include <netinet/in.h>
      #include <infiniband/verbs.h>
      #include <rdma/rdma_cma.h>
      #include <rdma/rdma_verbs.h>
      """;

  /** libc has it otherwise on aarch64, where {@link Abi} exchanges the mutex that is made of it. */
  private static final Set<String> X86_ONLY = Set.of("__pthread_mutex_s");

  private final Compiler compiler;
  private final Abi abi;
  private final boolean exact;

  /**
   * @param exact whether the headers must be those that raw was made from, not later ones
   */
  LayoutProof(Compiler compiler, Abi abi, boolean exact) {
    this.compiler = compiler;
    this.abi = abi;
    this.exact = exact;
  }

  /** Why nothing can be proven here, if so: the headers themselves do not compile. */
  Optional<String> obstacle() {
    return compiler.errors(HEADERS).values().stream().findFirst();
  }

  /**
   * What came out.
   *
   * @param proven how many claims of each kind hold
   * @param unknown what these headers do not have
   * @param grew what they have a part of
   * @param refuted what they have otherwise
   */
  record Verdict(
      Map<Claim.Kind, Integer> proven,
      List<String> unknown,
      List<String> grew,
      List<String> refuted) {}

  Verdict run() {
    List<Claim> claims = new ArrayList<>();
    List<String> unknown = new ArrayList<>();
    addStructs(claims, unknown);
    RawTypes.constants().forEach((name, value) -> claims.add(Claim.constant(name, value)));

    List<Claim> missing = new ArrayList<>();
    compile(claims.stream().map(Claim::probe).toList())
        .forEach(
            (index, error) -> {
              Claim claim = claims.get(index);
              requireUnknown(claim, error);
              missing.add(claim);
              unknown.add(claim.name());
            });
    claims.removeAll(missing);

    // Headers that lack nothing can be later ones, whose structs may have grown.
    String whole = unknown.isEmpty() && !exact ? ">=" : "==";
    List<String> grew = new ArrayList<>();
    List<String> assertions = new ArrayList<>();
    for (Claim claim : claims) {
      boolean partly = missing.stream().anyMatch(part -> part.isPartOf(claim));
      if (partly) {
        grew.add(claim.name());
      }
      assertions.add(claim.assertion(partly ? "<=" : whole));
    }
    Set<Integer> errors = compile(assertions).keySet();

    List<String> refuted = new ArrayList<>();
    Map<Claim.Kind, Integer> proven = new EnumMap<>(Claim.Kind.class);
    for (int i = 0; i < claims.size(); i++) {
      if (errors.contains(i)) {
        refuted.add(claims.get(i).name() + ": not so: " + assertions.get(i));
      } else {
        proven.merge(claims.get(i).kind(), 1, Integer::sum);
      }
    }
    return new Verdict(proven, unknown, grew, refuted);
  }

  private void addStructs(List<Claim> claims, List<String> unknown) {
    List<Class<?>> structs =
        RawTypes.structs().stream()
            .filter(type -> abi == Abi.X86_64 || !X86_ONLY.contains(type.getSimpleName()))
            .toList();
    Map<String, String> spellings = spellings(structs.stream().map(Class::getSimpleName).toList());
    for (Class<?> struct : structs) {
      String spelling = spellings.get(struct.getSimpleName());
      if (spelling == null) {
        unknown.add(struct.getSimpleName());
      } else {
        GroupLayout layout = abi.layout(RawTypes.layout(struct));
        claims.add(Claim.struct(spelling, layout.byteSize()));
        addFields(claims, spelling, "", 0, layout);
      }
    }
  }

  /** How C calls each: a typedef, a union, a struct. What it does not know has no spelling. */
  private Map<String, String> spellings(List<String> names) {
    Map<String, String> spellings = new HashMap<>();
    List<String> open = new ArrayList<>(names);
    for (String format : List.of("%s", "union %s", "struct %s")) {
      List<Claim> guesses =
          open.stream().map(name -> Claim.struct(format.formatted(name), 0)).toList();
      SortedMap<Integer, String> errors = compile(guesses.stream().map(Claim::probe).toList());
      for (int i = 0; i < guesses.size(); i++) {
        if (!errors.containsKey(i)) {
          spellings.put(open.get(i), guesses.get(i).name());
        } else if (format.startsWith("struct")) {
          requireUnknown(guesses.get(i), errors.get(i));
        }
      }
      open.removeAll(spellings.keySet());
    }
    return spellings;
  }

  private static void addFields(
      List<Claim> claims, String type, String path, long start, GroupLayout group) {
    long offset = start;
    for (MemoryLayout member : group.memberLayouts()) {
      if (!(member instanceof PaddingLayout)) {
        String name = member.name().orElseThrow();
        boolean anonymous = name.startsWith("$anon$");
        if (!anonymous) {
          claims.add(field(type, path + name, offset, member.byteSize()));
        }
        if (member instanceof GroupLayout inner) {
          addFields(claims, type, anonymous ? path : path + name + ".", offset, inner);
        }
      }
      if (group instanceof StructLayout) {
        offset += member.byteSize();
      }
    }
  }

  /** Every {@code verbs_context} ends with an {@code ibv_context}, and grows at the other end. */
  private static Claim field(String type, String path, long offset, long size) {
    return type.equals("struct verbs_context")
        ? Claim.field(type, path, "context", offset - verbs_context.context$offset(), size)
        : Claim.field(type, path, offset, size);
  }

  /** The errors of one C line each, by the line's index. */
  private SortedMap<Integer, String> compile(List<String> lines) {
    int before = (int) HEADERS.lines().count() + 1;
    SortedMap<Integer, String> errors = new TreeMap<>();
    compiler
        .errors(HEADERS + String.join("\n", lines) + "\n")
        .forEach((line, error) -> errors.put(line - before, error));
    if (!errors.isEmpty() && errors.firstKey() < 0) {
      throw new IllegalStateException("the compiler failed: " + errors.get(errors.firstKey()));
    }
    return errors;
  }

  /** A probe can fail for another reason than that the headers do not know its subject. */
  private static void requireUnknown(Claim claim, String error) {
    if (!claim.kind().isUnknown(error)) {
      throw new IllegalStateException("cannot ask for " + claim.name() + ": " + error);
    }
  }
}
