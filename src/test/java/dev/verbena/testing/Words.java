package dev.verbena.testing;

import java.util.ArrayList;
import java.util.List;

/** Makes command lines. */
public final class Words {
  private Words() {}

  public static String[] of(Object... parts) {
    List<String> words = new ArrayList<>();
    for (Object part : parts) {
      if (part instanceof String[] many) {
        words.addAll(List.of(many));
      } else {
        words.add(part.toString());
      }
    }
    return words.toArray(String[]::new);
  }
}
