package dev.verbena.s3.server;

import dev.verbena.address.Gid;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory of a client that a request moves its data from or to.
 *
 * @param address the address of the first byte
 * @param size the number of bytes
 * @param rkey the remote key
 * @param lid the LID; 0 on Ethernet
 * @param target the number of the DC target; 0 for a connection
 * @param gid the GID of the target; all zeros for a connection
 * @param connection the id of an RC connection, which the client has made; empty for DC
 */
public record Token(
    long address, long size, int rkey, int lid, int target, Gid gid, String connection) {
  /** The number of characters of a token for DC. */
  public static final int LENGTH = 81;

  private static final Pattern DC =
      Pattern.compile(
          "(\\p{XDigit}{16}):(\\p{XDigit}{8}):(\\p{XDigit}{8}):(\\p{XDigit}{4}):(\\p{XDigit}{6})"
              + ":1:(\\p{XDigit}{32})(?::(\\p{XDigit}{16}):(\\p{XDigit}{16}))?;?");
  private static final Pattern RC =
      Pattern.compile("rc:(\\p{XDigit}{32}):(\\p{XDigit}{16}):(\\p{XDigit}{8}):(\\p{XDigit}{8})");

  /**
   * {@return the token of a DC target}
   *
   * @param address the address of the first byte
   * @param size the number of bytes
   * @param rkey the remote key
   * @param target the number of the DC target
   * @param gid the GID of the target
   */
  public static Token ofTarget(long address, long size, int rkey, int target, Gid gid) {
    return new Token(address, size, rkey, 0, target, gid, "");
  }

  /**
   * {@return the token of its text: for DC, or with the id of a connection}
   *
   * @param text the text; for DC with or without a suffix
   * @throws IllegalArgumentException if it is not a token
   */
  public static Token parse(String text) {
    Matcher rc = RC.matcher(text);
    if (rc.matches()) {
      long address = number(rc, 2);
      return new Token(address, number(rc, 3), (int) number(rc, 4), 0, 0, Gid.ZERO, rc.group(1));
    }
    Matcher dc = DC.matcher(text);
    if (!dc.matches()) {
      throw new IllegalArgumentException("not a token: " + text);
    }
    Token token =
        new Token(
            number(dc, 1),
            number(dc, 2),
            (int) number(dc, 3),
            (int) number(dc, 4),
            (int) number(dc, 5),
            Gid.fromBytes(HexFormat.of().parseHex(dc.group(6))),
            "");
    if (dc.group(7) != null && (number(dc, 7) != token.address || number(dc, 8) != token.size)) {
      throw new IllegalArgumentException("the suffix is another address or size: " + text);
    }
    return token;
  }

  private static long number(Matcher matcher, int group) {
    return HexFormat.fromHexDigitsToLong(matcher.group(group));
  }

  Token at(long start, long length) {
    return new Token(start, length, rkey, lid, target, gid, connection);
  }

  boolean isDc() {
    return connection.isEmpty();
  }

  /** Returns the {@value #LENGTH} characters of a token for DC. */
  @Override
  public String toString() {
    return isDc()
        ? "%016x:%08x:%08x:%04x:%06x:1:%s"
            .formatted(address, size, rkey, lid, target, HexFormat.of().formatHex(gid.toBytes()))
        : "rc:%s:%016x:%08x:%08x".formatted(connection, address, size, rkey);
  }
}
