package dev.verbena.tools;

import java.util.ArrayList;
import java.util.List;

/** Makes command lines. */
final class Words {
  private Words() {}

  static String[] of(Object... parts) {
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
