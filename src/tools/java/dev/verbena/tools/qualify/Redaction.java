package dev.verbena.tools.qualify;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Replaces addresses and GUIDs by salted hashes, and removes paths and the names of host and user.
 * The salt is random and never stored, so that nobody can try all addresses; equal addresses of one
 * report have equal hashes.
 */
public final class Redaction {
  /**
   * The key of a value that may look like an address: a firmware version has up to four numbers.
   */
  static final String FIRMWARE = "fw_ver";

  private static final Pattern COLONS =
      Pattern.compile(
          "(?<![\\w:.])(?:[0-9a-fA-F]{0,4}:){2,}[0-9a-fA-F.]{0,19}(?:/\\d+)?(?![\\w:])");
  private static final Pattern IPV4 =
      Pattern.compile("(?<![\\w.])\\d{1,3}(?:\\.\\d{1,3}){3}(?![\\w.]*\\w)");
  private static final Pattern DIGITS =
      Pattern.compile(
          "(?<![0-9a-fA-F])(?<!0x)(?=[0-9a-fA-F]*\\d)[0-9a-fA-F]{12,32}(?![0-9a-fA-F])");
  private static final Pattern MAC =
      Pattern.compile("(?<![\\w-])[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}(?![\\w-])");

  /** A path, unless it is one that all hosts have. */
  private static final Pattern PATH =
      Pattern.compile(
          "(?<![\\w.)/])/(?!dev/infiniband|etc/security|proc/|sys/)[\\w.+-]+(?:/[\\w.+-]+)+/?");

  private static final List<Pattern> ADDRESSES = List.of(COLONS, MAC, IPV4, DIGITS);
  private static final int HASH_BYTES = 4;
  private static final int SHORTEST_NAME = 3;

  private final byte[] salt = new byte[32];
  private final Map<Pattern, String> names = new LinkedHashMap<>();

  /**
   * Creates a redaction.
   *
   * @param names names to remove, such as that of the host, with what replaces each
   */
  public Redaction(Map<String, String> names) {
    new SecureRandom().nextBytes(salt);
    names.forEach(
        (name, replacement) -> {
          if (name.length() >= SHORTEST_NAME && !name.equals("root")) {
            this.names.put(word(name), replacement);
          }
        });
  }

  /** Returns a redaction with the names of this host and user. */
  public static Redaction ofThisHost(String host) {
    Map<String, String> names = new LinkedHashMap<>();
    names.put(host, "HOST");
    names.put(System.getProperty("user.name", ""), "USER");
    return new Redaction(names);
  }

  private static Pattern word(String name) {
    return Pattern.compile("(?<![\\w-])" + Pattern.quote(name) + "(?![\\w-])");
  }

  /** Returns a text without addresses, names and paths. */
  public String text(String text) {
    String clean = PATH.matcher(text).replaceAll("PATH");
    for (Map.Entry<Pattern, String> name : names.entrySet()) {
      clean = name.getKey().matcher(clean).replaceAll(name.getValue());
    }
    for (Pattern pattern : ADDRESSES) {
      clean = pattern.matcher(clean).replaceAll(found -> hash(found.group()));
    }
    return clean;
  }

  /** Returns maps, lists and texts without addresses, names and paths. */
  public Object tree(Object value) {
    return switch (value) {
      case Map<?, ?> map -> {
        Map<String, Object> clean = new LinkedHashMap<>();
        map.forEach(
            (key, item) -> clean.put((String) key, key.equals(FIRMWARE) ? item : tree(item)));
        yield clean;
      }
      case List<?> list -> {
        List<Object> clean = new ArrayList<>();
        list.forEach(item -> clean.add(tree(item)));
        yield clean;
      }
      case String text -> text(text);
      default -> value;
    };
  }

  private String hash(String address) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(salt);
      byte[] all = digest.digest(address.getBytes(StandardCharsets.UTF_8));
      return "#" + HexFormat.of().toHexDigits(ByteBuffer.wrap(all).getInt(), 2 * HASH_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** Returns what looks like an address or a path in a text. */
  static List<String> leaks(String text) {
    return Stream.concat(ADDRESSES.stream(), Stream.of(PATH))
        .flatMap(pattern -> pattern.matcher(text).results())
        .map(MatchResult::group)
        .toList();
  }
}
