package dev.verbena.s3.server;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Writes an element with child elements; finds the text of elements. */
final class Xml {
  private final String name;
  private final StringBuilder content = new StringBuilder();

  Xml(String name) {
    this.name = name;
  }

  Xml add(String child, Object text) {
    String escaped =
        text.toString().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    content.append("<%s>%s</%s>".formatted(child, escaped, child));
    return this;
  }

  Xml add(Xml child) {
    content.append(child.element());
    return this;
  }

  private String element() {
    return "<" + name + ">" + content + "</" + name + ">";
  }

  @Override
  public String toString() {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + element();
  }

  /** Returns the contents of all elements of a name, with entities for quotes replaced. */
  static List<String> contents(String xml, String name) {
    Matcher matcher =
        Pattern.compile("<" + name + ">(.*?)</" + name + ">", Pattern.DOTALL).matcher(xml);
    List<String> found = new ArrayList<>();
    while (matcher.find()) {
      found.add(matcher.group(1).replace("&quot;", "\"").replace("&#34;", "\""));
    }
    return found;
  }
}
