package dev.verbena.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * A function that the headers of rdma-core declare: one row of {@code api-surface.tsv}.
 *
 * @param name the C name
 * @param exported whether a library exports it; the others are inline
 * @param library libibverbs or librdmacm
 * @param header the header that declares it
 * @param since the first rdma-core release that exports it, 0 for every one
 * @param prototype the C prototype
 */
public record CFunction(
    String name, boolean exported, String library, String header, int since, String prototype) {
  private static final Pattern PROTOTYPE = Pattern.compile("(.+?)(\\w+)\\((.*)\\)");

  /** All rows. */
  public static List<CFunction> all() {
    var resource = CFunction.class.getResourceAsStream("/api-surface.tsv");
    try (var reader =
        new BufferedReader(
            new InputStreamReader(Objects.requireNonNull(resource), StandardCharsets.UTF_8))) {
      return reader
          .lines()
          .filter(line -> !line.startsWith("#"))
          .skip(1)
          .map(line -> line.split("\t", -1))
          .map(CFunction::row)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static CFunction row(String[] row) {
    // ibv_wr_opcode_str is declared, and exported by no release: it has no first one.
    boolean exported = row[1].equals("exported") && !row[5].equals("-");
    int since = exported && !row[5].equals("1.x") ? Integer.parseInt(row[5]) : 0;
    return new CFunction(row[0], exported, row[2], row[3], since, row[6]);
  }

  /** The Java types that the seam gives the parameters. */
  public List<Class<?>> parameterTypes() {
    String parameters = part(3);
    return parameters.equals("void")
        ? List.of()
        : Arrays.stream(parameters.split(",")).<Class<?>>map(CFunction::javaType).toList();
  }

  /** The Java type that the seam gives the result. */
  public Class<?> returnType() {
    return javaType(part(1));
  }

  private String part(int group) {
    var matcher = PROTOTYPE.matcher(prototype);
    if (!matcher.matches()) {
      throw new IllegalStateException("not a prototype: " + prototype);
    }
    return matcher.group(group).strip();
  }

  private static Class<?> javaType(String declaration) {
    String c = declaration.replaceAll("\\bconst\\b", "").strip();
    if (c.contains("*")
        || c.contains("[")
        || c.matches("(s?size_t|nfds_t|off_t|uint64_t|__be64)\\b.*")) {
      return long.class;
    } else if (c.matches("(int|unsigned int|socklen_t|uint32_t|__be32|enum \\w+)\\b.*")) {
      return int.class;
    } else if (c.matches("(uint16_t|__be16)\\b.*")) {
      return short.class;
    } else if (c.matches("uint8_t\\b.*")) {
      return byte.class;
    } else if (c.equals("void")) {
      return void.class;
    }
    throw new IllegalStateException("no Java type for " + declaration);
  }

  @Override
  public String toString() {
    return name;
  }
}
