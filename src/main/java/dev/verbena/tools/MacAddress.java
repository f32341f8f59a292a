package dev.verbena.tools;

import java.util.HexFormat;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** An Ethernet address. */
record MacAddress(byte[] bytes) {
  private static final HexFormat FORM = HexFormat.ofDelimiter(":");
  private static final Pattern PATTERN = Pattern.compile("\\p{XDigit}{2}(:\\p{XDigit}{2}){5}");

  /** Parses an address of the command line. */
  static final class Converter implements ITypeConverter<MacAddress> {
    @Override
    public MacAddress convert(String text) {
      return parse(text);
    }
  }

  static MacAddress parse(String text) {
    if (!PATTERN.matcher(text).matches()) {
      throw new TypeConversionException(
          "'" + text + "' is not an Ethernet address such as 02:00:00:00:00:0a");
    }
    return new MacAddress(FORM.parseHex(text));
  }

  @Override
  public String toString() {
    return FORM.formatHex(bytes);
  }
}
