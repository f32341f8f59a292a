package dev.verbena.internal;

import java.util.regex.Pattern;

/** The names by which programs know functions, for messages. */
public final class CNames {
  private static final Pattern KNOWN = Pattern.compile("(ibv|rdma|efadv|mlx5dv)_.*|.*_to_ibv_rate");

  private CNames() {}

  /**
   * Returns the name of a function that a program calls: {@code ibv_create_wq} for the pointer
   * {@code create_wq}, {@code ibv_query_gid_ex} for {@code _ibv_query_gid_ex}, which it calls.
   */
  public static String of(String function) {
    if (function.startsWith("ibv_")) {
      return function;
    }
    String name = function.replaceFirst("^_+", "");
    return KNOWN.matcher(name).matches() ? name : "ibv_" + name;
  }
}
